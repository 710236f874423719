{ return }

language guard;
m(x) {
	:: a;
	skip
}
{
	a := 0;
	spawn(m, 1);
	a := 1
}

------------------------------- MODULE idle_set ------------------------------
(* Who sleeps, who searches, whom to wake: so that nobody sleeps while work  *)
(* waits and all who are awake are busy.                                     *)
(*                                                                           *)
(* One word holds a bit for each worker that sleeps or is about to, and the  *)
(* number of workers that search. A waker clears a bit and counts the woken  *)
(* worker as a searcher in one step, and wakes nobody while somebody         *)
(* searches. So whoever leaves the search as the last one looks for more:    *)
(*   with a job in hand: heavy fence, then is there more? Wake the next;     *)
(*   with nothing:       set the bit, heavy fence, then look once more, and  *)
(*                       be counted again if something is there.             *)
(* A worker that runs dry while half of the others search already looks      *)
(* around without being counted. What it brings home it offers.              *)
(*                                                                           *)
(* Jobs come from posters, through the injector, and from running jobs,      *)
(* through the worker's own ring. Workers take all of the injector, or half  *)
(* of another's ring; on the way the jobs are in nobody's sight. What a      *)
(* thread stores into a queue first enters its store buffer, which drains at *)
(* any time, at the thread's next read-modify-write, or at a heavy fence.    *)
(*                                                                           *)
(* A step may take for ever: nothing here relies on a running job to end,    *)
(* nor on a sleeper's deadline. The notifier is one step here, as justified  *)
(* by specs/event_notifier.                                                  *)
EXTENDS Integers, FiniteSets

CONSTANTS
  Workers,  \* 1 .. some number
  Posters,  \* threads that post one job each
  Spawns,   \* how many jobs the running jobs make together
  Ends,     \* how many steps end; the others run for ever
  Naps,     \* whether a sleeper may wake by itself
  Start,    \* 0: all begin dry. Otherwise worker 1 runs with so many jobs in its ring, and the
            \* others search; those beyond the limit are not counted
  Post,     \* how a job is posted: "injector", "mail" or "mail_then_offer", see Put
  Mutant    \* "none", or the mistake that is made, see README.md

VARIABLES
  bits,       \* workers in the idle set          } one word
  searchers,  \* how many are counted as searching }
  notifier,   \* of each worker: running, prepared, notified
  ring,       \* jobs in each worker's run queue
  buffer,     \* jobs in each worker's store buffer, on their way into its ring
  hand,       \* jobs that each worker took and has not put anywhere yet
  mail,       \* jobs in each worker's inbox
  injector,   \* jobs from posters
  posting,    \* jobs in each poster's store buffer
  spawns,     \* jobs that may still be made
  ends,       \* steps that may still end
  at,         \* where each worker is
  back,       \* where it goes after an offer
  searching,  \* whether it knows that it is counted as a searcher
  chosen,     \* whom each worker is about to notify
  poster,     \* where each poster is
  picked      \* whom each poster is about to notify

vars == <<bits, searchers, notifier, ring, buffer, hand, mail, injector, posting, spawns,
          ends, at, back, searching, chosen, poster, picked>>

queues == <<ring, buffer, hand, mail, injector, posting, spawns, ends>>
posters == <<poster, picked>>

Nobody == 0
ASSUME Nobody \notin Workers

Places == {"run", "push", "offer", "choose", "notify", "pick", "search", "scan", "keep", "pop",
           "found", "fence_surplus", "surplus", "enter", "fence", "look", "leave", "asleep"}
PosterPlaces == {"ready", "put", "deliver", "offer", "choose", "notify", "done"}

TypeOK ==
  /\ bits \subseteq Workers
  /\ searchers \in 0..Cardinality(Workers)
  /\ injector >= 0
  /\ \A w \in Workers :
       /\ notifier[w] \in {"running", "prepared", "notified"}
       /\ ring[w] >= 0 /\ buffer[w] >= 0 /\ hand[w] >= 0 /\ mail[w] >= 0
       /\ at[w] \in Places
       /\ back[w] \in {"run", "push", "pop"}
       /\ searching[w] \in BOOLEAN
       /\ chosen[w] \in Workers \cup {Nobody}
  /\ \A p \in Posters : poster[p] \in PosterPlaces /\ posting[p] \in 0..1

Half(n) == (n + 1) \div 2

\* Whom begin_search() has counted when worker 1 runs and all others search.
CountedAtStart ==
  IF Start = 0 THEN {} ELSE {w \in Workers : w > 1 /\ w <= 1 + Half(Cardinality(Workers))}

Init ==
  /\ bits = {} /\ searchers = Cardinality(CountedAtStart)
  /\ notifier = [w \in Workers |-> "running"]
  /\ ring = [w \in Workers |-> IF w = 1 THEN Start ELSE 0]
  /\ buffer = [w \in Workers |-> 0]
  /\ hand = [w \in Workers |-> 0]
  /\ mail = [w \in Workers |-> 0]
  /\ injector = 0
  /\ posting = [p \in Posters |-> 0]
  /\ spawns = Spawns
  /\ ends = Ends
  /\ at = [w \in Workers |-> IF Start = 0 THEN "pick" ELSE IF w = 1 THEN "run" ELSE "scan"]
  /\ back = [w \in Workers |-> "run"]
  /\ searching = [w \in Workers |-> w \in CountedAtStart]
  /\ chosen = [w \in Workers |-> Nobody]
  /\ poster = [p \in Posters |-> "ready"]
  /\ picked = [p \in Posters |-> Nobody]

Go(w, place) == at' = [at EXCEPT ![w] = place]

\* Is there anybody whom choose() might return?
WorthWaking == bits # {} /\ searchers = 0

\* What a worker sees that looks everywhere; of its own ring it sees its buffer too.
SeesWork(w) ==
  \/ injector > 0
  \/ buffer[w] > 0
  \/ \E v \in Workers : ring[v] > 0 \/ mail[v] > 0

(* ------------------------------ store buffers ---------------------------- *)

Drain(w) ==
  /\ buffer[w] > 0
  /\ ring' = [ring EXCEPT ![w] = @ + buffer[w]]
  /\ buffer' = [buffer EXCEPT ![w] = 0]
  /\ UNCHANGED <<ends, bits, searchers, notifier, hand, mail, injector, posting, spawns, at, back,
                 searching, chosen, posters>>

DrainPoster(p) ==
  /\ posting[p] > 0
  /\ injector' = injector + posting[p]
  /\ posting' = [posting EXCEPT ![p] = 0]
  /\ UNCHANGED <<ends, bits, searchers, notifier, ring, buffer, hand, mail, spawns, at, back,
                 searching, chosen, posters>>

\* A heavy fence, in one step; specs/event_notifier has it thread by thread.
HeavyFence ==
  IF Mutant = "no_heavy_fence"
    THEN UNCHANGED <<ring, buffer, injector, posting>>
    ELSE /\ ring' = [w \in Workers |-> ring[w] + buffer[w]]
         /\ buffer' = [w \in Workers |-> 0]
         /\ injector' = injector + Cardinality({p \in Posters : posting[p] > 0})
         /\ posting' = [p \in Posters |-> 0]

(* ----------------------- running, making, offering ----------------------- *)

Spawn(w) ==
  /\ at[w] = "run"
  /\ spawns > 0
  /\ spawns' = spawns - 1
  /\ IF Mutant = "wake_before_push"
       THEN /\ back' = [back EXCEPT ![w] = "push"]
            /\ UNCHANGED buffer
       ELSE /\ back' = [back EXCEPT ![w] = "run"]
            /\ buffer' = [buffer EXCEPT ![w] = @ + 1]
  /\ Go(w, "offer")
  /\ UNCHANGED <<ends, bits, searchers, notifier, ring, hand, mail, injector, posting, searching,
                 chosen, posters>>

\* Only in the mutant that offers first.
LatePush(w) ==
  /\ at[w] = "push"
  /\ buffer' = [buffer EXCEPT ![w] = @ + 1]
  /\ back' = [back EXCEPT ![w] = "run"]
  /\ Go(w, "run")
  /\ UNCHANGED <<ends, bits, searchers, notifier, ring, hand, mail, injector, posting, spawns,
                 searching, chosen, posters>>

\* offer_work(): a light fence, which drains nothing, and one load.
Offer(w) ==
  /\ at[w] = "offer"
  /\ Go(w, IF WorthWaking THEN "choose" ELSE back[w])
  /\ UNCHANGED <<bits, searchers, notifier, queues, back, searching, chosen, posters>>

Choose(w) ==
  /\ at[w] = "choose"
  /\ WorthWaking
  /\ buffer[w] = 0
  /\ \E c \in bits :
       /\ bits' = bits \ {c}
       /\ chosen' = [chosen EXCEPT ![w] = c]
  /\ searchers' = searchers + 1
  /\ Go(w, "notify")
  /\ UNCHANGED <<notifier, queues, back, searching, posters>>

ChooseNobody(w) ==
  /\ at[w] = "choose"
  /\ ~WorthWaking
  /\ Go(w, back[w])
  /\ UNCHANGED <<bits, searchers, notifier, queues, back, searching, chosen, posters>>

\* notify() changes nothing unless the worker has a ticket.
Notified(c) == [notifier EXCEPT ![c] = IF @ = "prepared" THEN "notified" ELSE @]

Notify(w) ==
  /\ at[w] = "notify"
  /\ notifier' = Notified(chosen[w])
  /\ chosen' = [chosen EXCEPT ![w] = Nobody]
  /\ Go(w, back[w])
  /\ UNCHANGED <<bits, searchers, queues, back, searching, posters>>

EndStep(w) ==
  /\ at[w] = "run"
  /\ ends > 0
  /\ ends' = ends - 1
  /\ Go(w, "pick")
  /\ UNCHANGED <<bits, searchers, notifier, ring, buffer, hand, mail, injector, posting, spawns,
                 back, searching, chosen, posters>>

\* The pop is a read-modify-write.
Pick(w) ==
  /\ at[w] = "pick"
  /\ buffer[w] = 0
  /\ ring[w] > 0
  /\ ring' = [ring EXCEPT ![w] = @ - 1]
  /\ Go(w, "run")
  /\ UNCHANGED <<ends, bits, searchers, notifier, buffer, hand, mail, injector, posting, spawns, back,
                 searching, chosen, posters>>

RunDry(w) ==
  /\ at[w] = "pick"
  /\ buffer[w] = 0
  /\ ring[w] = 0
  /\ Go(w, "search")
  /\ UNCHANGED <<bits, searchers, notifier, queues, back, searching, chosen, posters>>

(* ------------------------------- searching ------------------------------- *)

BeginSearch(w) ==
  /\ at[w] = "search"
  /\ IF 2 * searchers >= Cardinality(Workers)
       THEN UNCHANGED <<searchers, searching>>
       ELSE /\ searchers' = searchers + 1
            /\ searching' = [searching EXCEPT ![w] = TRUE]
  /\ Go(w, "scan")
  /\ UNCHANGED <<bits, notifier, queues, back, chosen, posters>>

\* After taking mail the worker offers what it put into its ring; after a theft too, if it brought
\* more than it will run itself.
OfferAfter(w, offer) == back' = [back EXCEPT ![w] = IF offer THEN "pop" ELSE "run"]

TakeInjector(w) ==
  /\ at[w] = "scan"
  /\ injector > 0
  /\ hand' = [hand EXCEPT ![w] = injector]
  /\ injector' = 0
  /\ OfferAfter(w, TRUE)
  /\ Go(w, "keep")
  /\ UNCHANGED <<ends, bits, searchers, notifier, ring, buffer, mail, posting, spawns, searching,
                 chosen, posters>>

TakeMail(w) ==
  /\ at[w] = "scan"
  /\ \E v \in Workers :
       /\ mail[v] > 0
       /\ hand' = [hand EXCEPT ![w] = mail[v]]
       /\ mail' = [mail EXCEPT ![v] = 0]
  /\ OfferAfter(w, TRUE)
  /\ Go(w, "keep")
  /\ UNCHANGED <<ends, bits, searchers, notifier, ring, buffer, injector, posting, spawns, searching,
                 chosen, posters>>

Steal(w) ==
  /\ at[w] = "scan"
  /\ \E v \in Workers \ {w} :
       /\ ring[v] > 0
       /\ hand' = [hand EXCEPT ![w] = Half(ring[v])]
       /\ ring' = [ring EXCEPT ![v] = @ - Half(ring[v])]
       /\ OfferAfter(w, Half(ring[v]) > 1 /\ Mutant # "steal_without_offer")
  /\ Go(w, "keep")
  /\ UNCHANGED <<ends, bits, searchers, notifier, buffer, mail, injector, posting, spawns, searching,
                 chosen, posters>>

\* The loot enters the own ring.
Keep(w) ==
  /\ at[w] = "keep"
  /\ buffer' = [buffer EXCEPT ![w] = @ + hand[w]]
  /\ hand' = [hand EXCEPT ![w] = 0]
  /\ Go(w, IF back[w] = "pop" THEN "offer" ELSE "pop")
  /\ UNCHANGED <<ends, bits, searchers, notifier, ring, mail, injector, posting, spawns, back,
                 searching, chosen, posters>>

PopLoot(w) ==
  /\ at[w] = "pop"
  /\ buffer[w] = 0
  /\ ring[w] > 0
  /\ ring' = [ring EXCEPT ![w] = @ - 1]
  /\ back' = [back EXCEPT ![w] = "run"]
  /\ Go(w, "found")
  /\ UNCHANGED <<ends, bits, searchers, notifier, buffer, hand, mail, injector, posting, spawns,
                 searching, chosen, posters>>

\* Others were faster.
LostLoot(w) ==
  /\ at[w] = "pop"
  /\ buffer[w] = 0
  /\ ring[w] = 0
  /\ back' = [back EXCEPT ![w] = "run"]
  /\ Go(w, "enter")
  /\ UNCHANGED <<bits, searchers, notifier, queues, searching, chosen, posters>>

\* A scan may miss what came behind it, or what another thief was at.
Miss(w) ==
  /\ at[w] = "scan"
  /\ Go(w, "enter")
  /\ UNCHANGED <<bits, searchers, notifier, queues, back, searching, chosen, posters>>

(* ------------------- leaving the search with a job in hand --------------- *)

FoundWork(w) ==
  /\ at[w] = "found"
  /\ IF searching[w]
       THEN /\ searchers' = searchers - 1
            /\ searching' = [searching EXCEPT ![w] = FALSE]
            /\ Go(w, IF searchers = 1 /\ bits # {} /\ Mutant # "no_surplus_look"
                       THEN "fence_surplus" ELSE "run")
       ELSE /\ Go(w, "run")
            /\ UNCHANGED <<searchers, searching>>
  /\ UNCHANGED <<bits, notifier, queues, back, chosen, posters>>

FenceSurplus(w) ==
  /\ at[w] = "fence_surplus"
  /\ HeavyFence
  /\ Go(w, "surplus")
  /\ UNCHANGED <<ends, bits, searchers, notifier, hand, mail, spawns, back, searching, chosen, posters>>

Surplus(w) ==
  /\ at[w] = "surplus"
  /\ Go(w, IF bits # {} /\ SeesWork(w) THEN "choose" ELSE "run")
  /\ UNCHANGED <<bits, searchers, notifier, queues, back, searching, chosen, posters>>

(* --------------------------- giving up, sleeping ------------------------- *)

\* The ticket, then the bit, in one step: nobody chooses us before the bit is set.
Enter(w) ==
  /\ at[w] = "enter"
  /\ buffer[w] = 0
  /\ notifier' = [notifier EXCEPT ![w] = "prepared"]
  /\ bits' = bits \cup {w}
  /\ searchers' = IF searching[w] THEN searchers - 1 ELSE searchers
  /\ searching' = [searching EXCEPT ![w] = FALSE]
  /\ Go(w, "fence")
  /\ UNCHANGED <<queues, back, chosen, posters>>

Fence(w) ==
  /\ at[w] = "fence"
  /\ HeavyFence
  /\ Go(w, IF Mutant = "no_second_look" THEN "asleep" ELSE "look")
  /\ UNCHANGED <<ends, bits, searchers, notifier, hand, mail, spawns, back, searching, chosen, posters>>

Look(w) ==
  /\ at[w] = "look"
  /\ Go(w, IF SeesWork(w) THEN "leave" ELSE "asleep")
  /\ UNCHANGED <<bits, searchers, notifier, queues, back, searching, chosen, posters>>

\* Out of the set. Whoever was chosen meanwhile is counted as a searcher. Whoever saw work counts
\* itself again: producers that saw it searching before it entered rely on it to look for more.
Leave(w) ==
  /\ \/ at[w] = "leave"
     \/ at[w] = "asleep" /\ (notifier[w] = "notified" \/ Naps)
  /\ notifier' = [notifier EXCEPT ![w] = "running"]
  /\ searching' = [searching EXCEPT ![w] = w \notin bits]
  /\ bits' = bits \ {w}
  /\ Go(w, IF at[w] = "leave" /\ w \in bits /\ Mutant # "leave_uncounted"
             THEN "search" ELSE "scan")
  /\ UNCHANGED <<searchers, queues, back, chosen, posters>>

(* --------------------------------- posters ------------------------------- *)

\* "injector": put the job where all see it, then wake somebody if that is worth it.
\* "mail": choose a sleeper first, put the job into its inbox and notify it; only if there is nobody
\* to choose use the injector. "mail_then_offer": the same, and look at the set again afterwards.
Put(p) ==
  /\ poster[p] = "ready"
  /\ Post = "injector" \/ ~WorthWaking
  /\ posting' = [posting EXCEPT ![p] = 1]
  /\ poster' = [poster EXCEPT ![p] = "offer"]
  /\ UNCHANGED <<ends, bits, searchers, notifier, ring, buffer, hand, mail, injector, spawns, at, back,
                 searching, chosen, picked>>

PosterOffers(p) ==
  /\ poster[p] = "offer"
  /\ poster' = [poster EXCEPT ![p] = IF WorthWaking THEN "choose" ELSE "done"]
  /\ UNCHANGED <<bits, searchers, notifier, queues, at, back, searching, chosen, picked>>

\* With "mail" this comes first, and the job goes into the inbox of the worker chosen.
PosterChooses(p) ==
  /\ \/ poster[p] = "choose"
     \/ poster[p] = "ready" /\ Post # "injector"
  /\ WorthWaking
  /\ posting[p] = 0
  /\ \E c \in bits :
       /\ bits' = bits \ {c}
       /\ picked' = [picked EXCEPT ![p] = c]
  /\ searchers' = searchers + 1
  /\ poster' = [poster EXCEPT ![p] = IF poster[p] = "ready" THEN "put" ELSE "notify"]
  /\ UNCHANGED <<notifier, queues, at, back, searching, chosen>>

PosterChoosesNobody(p) ==
  /\ poster[p] = "choose"
  /\ ~WorthWaking
  /\ poster' = [poster EXCEPT ![p] = "done"]
  /\ UNCHANGED <<bits, searchers, notifier, queues, at, back, searching, chosen, picked>>

PutIntoMail(p) ==
  /\ poster[p] = "put"
  /\ mail' = [mail EXCEPT ![picked[p]] = @ + 1]
  /\ poster' = [poster EXCEPT ![p] = "deliver"]
  /\ UNCHANGED <<ends, bits, searchers, notifier, ring, buffer, hand, injector, posting, spawns, at,
                 back, searching, chosen, picked>>

PosterNotifies(p) ==
  /\ poster[p] \in {"notify", "deliver"}
  /\ notifier' = Notified(picked[p])
  /\ picked' = [picked EXCEPT ![p] = Nobody]
  /\ poster' = [poster EXCEPT ![p] = IF poster[p] = "deliver" /\ Post = "mail_then_offer"
                                       THEN "offer" ELSE "done"]
  /\ UNCHANGED <<bits, searchers, queues, at, back, searching, chosen>>

(* ---------------------------------- spec --------------------------------- *)

Worker(w) ==
  \/ Spawn(w) \/ LatePush(w) \/ Offer(w) \/ Choose(w) \/ ChooseNobody(w) \/ Notify(w)
  \/ EndStep(w) \/ Pick(w) \/ RunDry(w)
  \/ BeginSearch(w) \/ TakeInjector(w) \/ TakeMail(w) \/ Steal(w) \/ Keep(w)
  \/ PopLoot(w) \/ LostLoot(w) \/ Miss(w)
  \/ FoundWork(w) \/ FenceSurplus(w) \/ Surplus(w)
  \/ Enter(w) \/ Fence(w) \/ Look(w) \/ Leave(w)

Poster(p) ==
  \/ Put(p) \/ PosterOffers(p) \/ PosterChooses(p) \/ PosterChoosesNobody(p)
  \/ PutIntoMail(p) \/ PosterNotifies(p)

\* Nothing left to happen: all sleep or run for ever, everything was posted.
Standstill ==
  /\ \A w \in Workers :
       \/ at[w] = "asleep" /\ notifier[w] = "prepared"
       \/ at[w] = "run" /\ ends = 0 /\ spawns = 0
  /\ \A p \in Posters : poster[p] = "done"

Next ==
  \/ \E w \in Workers : Worker(w) \/ Drain(w)
  \/ \E p \in Posters : Poster(p) \/ DrainPoster(p)
  \/ (Standstill /\ UNCHANGED vars)

Spec == Init /\ [][Next]_vars

(* ------------------------------- properties ------------------------------ *)

JobQueued ==
  \/ injector > 0
  \/ \E p \in Posters : posting[p] > 0
  \/ \E w \in Workers : ring[w] > 0 \/ buffer[w] > 0 \/ mail[w] > 0

Sleeps(w) == at[w] = "asleep" /\ notifier[w] = "prepared"

\* Everybody is in the middle of a step, for all we know for ever, or sleeps with nobody about to
\* wake it; and no poster is at work.
NobodyWillLook ==
  /\ \A w \in Workers : at[w] = "run" \/ Sleeps(w)
  /\ \A p \in Posters : poster[p] \in {"ready", "done"}

WorkConserving == ~(JobQueued /\ NobodyWillLook /\ \E w \in Workers : Sleeps(w))

\* A worker that was chosen and does not know it yet.
WasChosen(w) == at[w] \in {"fence", "look", "leave", "asleep"} /\ w \notin bits

\* The count is right at every moment.
SearchersCounted ==
  searchers = Cardinality({w \in Workers : searching[w] \/ WasChosen(w)})

\* Who was chosen and sleeps is about to be notified.
ChosenAreNotified ==
  \A w \in Workers : (WasChosen(w) /\ at[w] = "asleep" /\ notifier[w] = "prepared") =>
    \/ \E v \in Workers : chosen[v] = w
    \/ \E p \in Posters : picked[p] = w
=============================================================================

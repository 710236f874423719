"""What the fake daemon knows: jobs, runs, firings and days, made up around the present moment."""

import datetime
import random

HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
UTC = datetime.timezone.utc


def now():
    return datetime.datetime.now(UTC)


def ago(**span):
    return now() - datetime.timedelta(**span)


def iso(at):
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z" if at else None


def job(name, schedule="0 3 * * *", explain="At 03:00, every day", every=86400, first=7200, **more):
    """A job that is next due in `first` seconds, then `every` so many."""
    rules = {
        "overlap": "skip", "queue_length": 1, "catchup": "one", "catchup_most": 100, "deadline_s": 86400,
        "timeout_s": 0, "grace_s": 10, "group": None, "after": [], "on_unknown": "report", "absence_s": 0,
        "retry": {"count": 0, "delay_s": 10, "most_s": 3600, "factor": 2.0, "jitter": 0.1, "codes": []},
    }
    rules.update(more.pop("rules", {}))
    made = {
        "name": name, "owner": "root", "schedule": schedule, "kind": "cron", "zone": "Europe/Berlin", "dst": "wall",
        "explain": explain, "warnings": [], "next": iso(now() + datetime.timedelta(seconds=first)),
        "paused": False, "waiting": 0, "running": 0, "failing": False, "absent": False,
        "last_success": iso(ago(hours=3)), "last_run": None, "source": "/etc/rota/jobs.toml:12",
        "removable": False, "user": None, "command": {"shell": f"/usr/local/bin/{name} --all", "argv": None},
        "rules": rules, "every": every, "first": first,
    }
    made.update(more)
    return made


def run(name, ident, phase="over", outcome="success", begun=None, took=30.0, **more):
    begun = begun or now()
    started = iso(begun + datetime.timedelta(milliseconds=40)) if phase != "due" and outcome != "skipped" else None
    finished = iso(begun + datetime.timedelta(seconds=took)) if phase == "over" and outcome != "skipped" else None
    codes = {"failed": 1, "success": 0}
    made = {
        "id": ident, "job": name, "scheduled": iso(begun), "attempt": 1, "why": "schedule", "phase": phase,
        "outcome": outcome, "reason": None, "count": 1, "first": iso(begun), "recorded": iso(begun),
        "not_before": None, "launched": started, "started": started, "finished": finished,
        "exit_code": codes.get(outcome) if phase == "over" else None, "signal": None,
        "pid": 4000 + ident if started else None, "note": None, "requested_by": None,
        "log_size": 1234 if started else None,
    }
    made.update(more)
    return made


def next_of(one, count):
    at = now() + datetime.timedelta(seconds=one["first"])
    step = datetime.timedelta(seconds=one["every"])
    berlin = datetime.timezone(datetime.timedelta(hours=1))
    times = [at + i * step for i in range(count)]
    return [{"utc": iso(t), "local": t.astimezone(berlin).isoformat(timespec="seconds")} for t in times]


def upcoming_of(jobs, changes=()):
    start = now()
    firings = []
    for one in jobs.values():
        at = one["first"]
        while at < 86400 and not one["paused"]:
            firings.append((at, one["name"]))
            at += one["every"]
    firings.sort()
    cut = len(firings) > 20000
    shown = [{"job": name, "at": iso(start + datetime.timedelta(seconds=at))} for at, name in firings[:20000]]
    return {"from": iso(start), "to": iso(start + datetime.timedelta(days=1)), "cut": cut,
            "clock_changes": list(changes), "firings": shown}


def heat_of(seed, busy):
    chance = random.Random(seed)
    today = now().date()
    days = []
    for back in range(83, -1, -1):
        quiet = chance.random() < 0.1
        ran = 0 if quiet else int(busy * chance.uniform(0.4, 1.0))
        failed = chance.choice([0] * 7 + [1, 2, 5]) if ran else 0
        days.append({"date": str(today - datetime.timedelta(days=back)), "success": ran, "failed": failed,
                     "skipped": chance.choice([0, 0, 3]), "other": chance.choice([0, 0, 0, 1]) if ran else 0})
    return days


def status(max_active=4, groups=(), tables=(), **more):
    made = {
        "version": "1.0.0", "now": "", "started": iso(ago(days=9)), "boot": "b1", "zone": "Europe/Berlin",
        "max_active": max_active, "draining": False, "groups": list(groups), "ledger": {"ok": True, "error": None},
        "tables": list(tables),
    }
    made.update(more)
    return made


def table(file, ok=True, error=None):
    return {"file": file, "ok": ok, "error": error, "loaded": iso(ago(hours=5)), "jobs": 7}


def world(state, jobs, runs, heat_busy=60, changes=(), logs=None):
    by_name = {one["name"]: one for one in jobs}
    by_id = {one["id"]: one for one in runs}
    for one in jobs:
        mine = [r for r in runs if r["job"] == one["name"]]
        if mine:
            one["last_run"] = max(mine, key=lambda r: r["id"])
    heat = {n: heat_of(n, 3) for n in by_name if len(by_name) < 50}
    return {"status": state, "jobs": by_name, "runs": by_id, "upcoming": upcoming_of(by_name, changes),
            "logs": logs or {}, "heat": {"": heat_of(1, heat_busy), **heat}}


def past_runs(name, first_id, count, every, seed, fail=0.1, took=30):
    chance = random.Random(seed)
    found = []
    for i in range(count):
        bad = chance.random() < fail
        outcome = chance.choice(["failed", "timed_out"]) if bad else "success"
        begun = ago(seconds=every * (count - i))
        found.append(run(name, first_id + i, begun=begun, took=took * chance.uniform(0.6, 1.6), outcome=outcome))
    return found


LOG = ("\x1b[1mbackup\x1b[0m of /srv\n\x1b[32mok\x1b[0m   documents\n\x1b[33mslow\x1b[0m  pictures\n"
       "\x1b[31mfailed\x1b[0m music: permission denied\n10 %\r50 %\r100 %\n<script>document.title='owned'</script>\n")


def ordinary():
    gap = now().replace(minute=0, second=0, microsecond=0) + datetime.timedelta(hours=9)
    retry = {"count": 3, "delay_s": 10, "most_s": 600, "factor": 2.0, "jitter": 0.1, "codes": [1, 75]}
    jobs = [
        job("backup", "30 2 * * *", "At 02:30, every day", first=30000, running=1,
            rules={"timeout_s": 3600, "group": "disk", "retry": retry},
            warnings=["02:30 falls into the gap of 2027-03-28 in Europe/Berlin: it fires once, at 03:00"]),
        job("mail-queue", "*/5 * * * *", "Every 5 minutes", every=300, first=130, rules={"overlap": "allow"}),
        job("report", "0 7 * * 1-5", "At 07:00, Monday to Friday", first=50000, failing=True,
            last_success=iso(ago(days=3)), rules={"absence_s": 172800}),
        job("rotate-logs", "@hourly", "Every hour, at minute 0", every=3600, first=900, waiting=1,
            rules={"group": "disk"}),
        job("certificates", "H 4 * * *", "At a minute of its own after 04:00, every day", first=36000, paused=True),
        job("sync", "@every 90s", "Every 90 seconds", kind="every", every=90, first=20, running=1),
        job("probe", "@at 2030-01-01T00:00:00Z", "Once, on 1 January 2030", kind="at", every=1e9, first=9e7,
            removable=True, source=None, toml='schedule = "@at 2030-01-01T00:00:00Z"\nshell = "probe --all"\n'),
        job(HOSTILE, "0 12 * * *", "At 12:00, every day", first=64000),
    ]
    runs = past_runs("backup", 100, 30, 86400, 1, took=900) + past_runs("mail-queue", 200, 60, 300, 2, took=2) \
        + past_runs("report", 300, 20, 86400, 3, fail=0.3) + past_runs("rotate-logs", 400, 30, 3600, 4, took=8)
    runs += [
        run("report", 501, outcome="failed", begun=ago(hours=2), note="exit code 3 is not tried again", exit_code=3),
        run("certificates", 502, outcome="skipped", reason="paused", count=3, begun=ago(minutes=90)),
        run("backup", 601, phase="launched", outcome=None, begun=ago(minutes=12), log_size=200),
        run("sync", 602, phase="launched", outcome=None, begun=ago(seconds=20)),
        run("rotate-logs", 603, phase="due", outcome=None, begun=ago(seconds=40)),
        run(HOSTILE, 604, phase="due", outcome=None, begun=ago(seconds=30), why="manual", requested_by="<b>eve</b>"),
    ]
    changes = [{"zone": "Europe/Berlin", "at": iso(gap), "before_s": 3600, "after_s": 7200}]
    logs = {601: {"text": bytearray(LOG.encode()), "over": False}, 501: {"text": bytearray(LOG.encode()), "over": True}}
    groups = [{"name": "disk", "cap": 2, "active": 1}, {"name": "network", "cap": 40, "active": 12}]
    state = status(groups=groups, tables=[table("/etc/rota/jobs.toml")])
    return world(state, jobs, runs, changes=changes, logs=logs)


def empty():
    made = world(status(), [], [], heat_busy=0)
    for day in made["heat"][""]:
        day.update(success=0, failed=0, skipped=0, other=0)
    return made


def many():
    chance = random.Random(5)
    kinds = [("*/5 * * * *", "Every 5 minutes", 300), ("@hourly", "Every hour, at minute 0", 3600),
             ("0 */3 * * *", "Every 3 hours", 10800), ("15 4 * * *", "At 04:15, every day", 86400), ("* * * * *", "Every minute", 60)]
    places = ["billing", "search", "media", "crm", "warehouse", "ledger", "mail", "metrics"]
    works = ["import", "export", "vacuum", "reindex", "sync", "report", "prune", "snapshot"]
    jobs, runs = [], []
    for i in range(300):
        schedule, explain, every = chance.choices(kinds, [6, 8, 6, 12, 1])[0]
        name = f"{chance.choice(places)}-{chance.choice(works)}-{i:03}"
        failing = i % 23 == 0
        first = chance.randrange(10, min(every, 80000))
        jobs.append(job(name, schedule, explain, every=every, first=first, failing=failing, paused=i % 41 == 5,
                        running=int(i < 14), waiting=int(14 <= i < 60)))
        begun = ago(seconds=chance.randrange(60, 40000))
        runs.append(run(name, 1000 + i, begun=begun, took=chance.uniform(0.2, 90),
                        outcome="failed" if failing else "success"))
    for i in range(14):
        runs.append(run(jobs[i]["name"], 2000 + i, phase="launched", outcome=None, begun=ago(seconds=30 + 11 * i)))
    for i in range(14, 60):
        runs.append(run(jobs[i]["name"], 2000 + i, phase="due", outcome=None, begun=ago(seconds=90 - i)))
    groups = [{"name": "database", "cap": 64, "active": 41}]
    return world(status(max_active=16, groups=groups), jobs, runs, heat_busy=4000)


def broken():
    made = ordinary()
    wrong = "/etc/rota/jobs.toml:7:12: hour 25 is out of range (0-23) <b>x</b>"
    made["status"].update(
        draining=True,
        ledger={"ok": False, "error": "/var/lib/rota/ledger.db: the disk is full"},
        tables=[table("/etc/rota/jobs.toml", False, wrong), table("/etc/cron.d/other")],
    )
    return made


SCENARIOS = {"ordinary": ordinary, "empty": empty, "many": many, "broken": broken}

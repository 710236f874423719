"""Reads a file that Perfetto would open: the packets of rota's traces, by the field numbers of Perfetto's
protocol. Written against that, not against the writer, and strict: what it does not know is an error.

    trace = perfetto.read(path)
    trace.slices     # Slice(track, name, category, begin, end, number, place, woken_by)
    trace.moments    # Moment(track, name, category, at, number, arrow)
    trace.arrows()   # pairs of a moment and the slice that it leads to
"""

import dataclasses

VARINT, FIXED64, BYTES = 0, 1, 2
BEGIN, END, INSTANT = 1, 2, 3


@dataclasses.dataclass
class Slice:
    track: str
    name: str
    category: str
    begin: int
    end: int = None
    number: int = None
    place: tuple = None
    woken_by: int = None
    depth: int = 0


@dataclasses.dataclass
class Moment:
    track: str
    name: str
    category: str
    at: int
    number: int = None
    arrow: int = None


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
        shift += 7
        assert shift < 70, "a number of more than 64 bits"


def fields(data):
    """The fields of a message: pairs of a number and a value."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            value, at = varint(data, at)
        elif kind == FIXED64:
            value, at = int.from_bytes(data[at : at + 8], "little"), at + 8
        elif kind == BYTES:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise AssertionError(f"wire type {kind}")
        assert at <= len(data), "a field that goes beyond its message"
        yield tag >> 3, value


def message(data, single, repeated=()):
    """A message as a dictionary by the names of `single` and `repeated`, which map field numbers."""
    found = {name: [] for name in dict(repeated).values()}
    for number, value in fields(data):
        if number in dict(repeated):
            found[dict(repeated)[number]].append(value)
        else:
            assert number in single, f"field {number}, where {single} are known"
            assert single[number] not in found, f"field {number} twice"
            found[single[number]] = value
    return found


PACKET = {8: "timestamp", 10: "sequence", 11: "event", 12: "texts", 13: "flags", 60: "track"}
TRACK = {1: "uuid", 2: "name", 3: "process", 4: "thread", 5: "parent"}
EVENT = {9: "type", 10: "name", 11: "track", 34: "place", 47: "flow", 48: "last_of_flow"}
EVENT_LISTS = {3: "categories", 4: "annotations"}
TEXTS = {1: "categories", 2: "names", 3: "annotation_names", 4: "places"}


class Trace:
    def __init__(self, data):
        self.tracks = {}
        self.process = None
        self.slices = []
        self.moments = []
        self.texts = {name: {} for name in TEXTS.values()}
        events = []
        for number, packet in fields(data):
            assert number == 1, "a trace is packets"
            events += self.packet(message(packet, PACKET))
        # Perfetto sorts by time, and leaves packets of the same time as they come.
        events.sort(key=lambda pair: pair[0])
        open_slices = {}
        for at, event in events:
            self.event(at, event, open_slices)
        self.unfinished = [s for stack in open_slices.values() for s in stack]

    def packet(self, packet):
        if "track" in packet:
            track = message(packet["track"], TRACK)
            if "process" in track:
                self.process = message(track["process"], {1: "pid", 6: "name"})
                self.tracks[track["uuid"]] = self.process["name"].decode()
            else:
                assert track["parent"] in self.tracks
                assert track["uuid"] not in self.tracks
                self.tracks[track["uuid"]] = track["name"].decode()
            return []
        if packet["flags"] & 1:
            self.texts = {name: {} for name in TEXTS.values()}
        assert packet["flags"] & 2 and packet["sequence"] == 1
        if "texts" in packet:
            for kind, entries in message(packet["texts"], {}, TEXTS).items():
                for entry in entries:
                    if kind == "places":
                        e = message(entry, {1: "iid", 2: "file", 3: "function", 4: "line"})
                        value = (e["file"].decode(), e["line"], e["function"].decode())
                    else:
                        e = message(entry, {1: "iid", 2: "text"})
                        value = e["text"].decode()
                    assert e["iid"] not in self.texts[kind]
                    self.texts[kind][e["iid"]] = value
        event = message(packet["event"], EVENT, EVENT_LISTS)
        # Numbers of texts are resolved as the packets come.
        if "name" in event:
            event["name"] = self.texts["names"][event["name"]]
        event["category"] = "".join(self.texts["categories"][c] for c in event["categories"])
        if "place" in event:
            event["place"] = self.texts["places"][event["place"]]
        for annotation in event["annotations"]:
            a = message(annotation, {1: "name", 3: "number"})
            event["number"] = a["number"]
            assert a["name"] in self.texts["annotation_names"]
        return [(packet["timestamp"], event)]

    def event(self, at, event, open_slices):
        track = self.tracks[event["track"]]
        stack = open_slices.setdefault(event["track"], [])
        if event["type"] == BEGIN:
            stack.append(
                Slice(track, event["name"], event["category"], at, number=event.get("number"),
                      place=event.get("place"), woken_by=event.get("last_of_flow"), depth=len(stack))
            )
        elif event["type"] == END:
            assert stack, f"on {track} something ends that has not begun"
            done = stack.pop()
            done.end = at
            self.slices.append(done)
        else:
            assert event["type"] == INSTANT
            self.moments.append(
                Moment(track, event["name"], event["category"], at, event.get("number"), event.get("flow"))
            )

    def arrows(self):
        """Pairs (moment, slice): an arrow ends at the first slice after it that names its number."""
        ends = {}
        for s in sorted(self.slices, key=lambda s: s.begin):
            if s.woken_by is not None:
                ends.setdefault(s.woken_by, []).append(s)
        pairs = []
        for moment in sorted(self.moments, key=lambda m: m.at):
            if moment.arrow is None:
                continue
            while ends.get(moment.arrow) and ends[moment.arrow][0].begin < moment.at:
                ends[moment.arrow].pop(0)
            if ends.get(moment.arrow):
                pairs.append((moment, ends[moment.arrow].pop(0)))
        return pairs


def read(path):
    with open(path, "rb") as file:
        return Trace(file.read())

"""Reads twinrig records with pyarrow, whole or cut off.

    import twinrig_record
    record = twinrig_record.load("record.arrow")
    record.table["force.1"].to_numpy()
    record.unit("force.1")
    record.summary           # None if the run was cut off
    record.header["experiment"]

A whole record needs nothing but pyarrow (see docs/record-format.md); this
loader also keeps what a killed run left behind. It does not check a damaged
file as closely as `twinrig` itself does.
"""

import base64
import io
import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

import pyarrow as pa

__all__ = ["Record", "load"]

_FORMAT_KEY = "twinrig_record"


@dataclass
class Record:
    """A record: frames, header and summary."""

    table: pa.Table
    header: Dict[str, Any] = field(default_factory=dict)
    summary: Optional[Dict[str, Any]] = None

    @property
    def cut_off(self) -> bool:
        """True if the run did not come to its end."""
        return self.summary is None

    def unit(self, channel: str) -> str:
        """The channel's SI unit, empty for a pure number."""
        return self.table.schema.field(channel).metadata[b"unit"].decode()

    def description(self, channel: str) -> str:
        """One sentence on what the channel means."""
        return self.table.schema.field(channel).metadata[b"description"].decode()


def load(path) -> Record:
    """Reads the record at `path` up to its end or to where it was cut off.

    Raises ValueError if the file is no twinrig record or ends within its header.
    """
    with open(path, "rb") as file:
        try:
            frames = pa.ipc.open_stream(file)
        except (pa.ArrowInvalid, OSError) as error:
            raise ValueError(f"{path}: no record, or cut off within its header ({error})") from error
        header = _header(path, frames.schema)
        batches, ended = _batches(frames)
        table = pa.Table.from_batches(batches, frames.schema)
        summary = _summary(file) if ended else None
    return Record(table, header, summary)


def _batches(stream):
    """The complete batches, and whether the stream came to its end mark."""
    batches: List[pa.RecordBatch] = []
    while True:
        try:
            batches.append(stream.read_next_batch())
        except StopIteration:
            return batches, True
        except (pa.ArrowInvalid, OSError):
            # The last batch was being written when the run was stopped.
            return batches, False


def _summary(file) -> Optional[Dict[str, Any]]:
    """The one row of the second stream, if it is there."""
    rest = file.read()
    try:
        batches, _ = _batches(pa.ipc.open_stream(io.BytesIO(rest)))
    except (pa.ArrowInvalid, OSError):
        return None
    if not batches or not batches[0].num_rows:
        return None
    summary = batches[0].to_pylist()[0]
    summary["events"] = json.loads(summary.get("events", "[]"))
    return summary


def _header(path, schema: pa.Schema) -> Dict[str, Any]:
    texts = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    if _FORMAT_KEY not in texts:
        raise ValueError(f"{path}: an Arrow stream, but no twinrig record")
    if texts[_FORMAT_KEY] != "1":
        raise ValueError(f"{path}: record format {texts[_FORMAT_KEY]}, this loader reads format 1")
    return {
        **texts,
        "interface": json.loads(texts.get("interface", "[]")),
        "seed": int(texts["seed"]),
        "rate_hz": float(texts["rate_hz"]),
        "every": int(texts["every"]),
        "machine": dict(json.loads(texts["machine"])),
        "trip_codes": dict(json.loads(texts["trip_codes"])),
        "inputs": {
            file["name"]: base64.b64decode(file["base64"]) for file in json.loads(texts["inputs"])
        },
    }

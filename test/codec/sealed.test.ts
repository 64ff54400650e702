/** The codec of sealed events reads what it wrote, and refuses anything else with a reason. */
import { expect, test } from "vitest";
import { canonical, compress, decompress, sha256 } from "../../src/codec/canonical.ts";
import type { SealedRef } from "../../src/codec/schema/sealed.ts";
import { type SealedEvents, decodeSealed, encodeSealed } from "../../src/codec/sealed.ts";
import { encodeCommits } from "../../src/codec/snapshot.ts";
import { FORMAT } from "../../src/protocol/row.ts";
import { EVENT_KINDS, SHA, eventOf, EVENT } from "../support/states/states-and-events.ts";

const previous: SealedRef = { from: 1, to: 4, key: "before", digest: SHA, bytes: 99 };
const events: SealedEvents = {
  ...{ from: 5, to: 9, previous },
  commits: [
    { version: 5, epoch: 2, events: EVENT_KINDS.map((kind) => eventOf(kind, "ExecutingTools")) },
    { version: 9, epoch: 3, events: [EVENT.started] },
  ],
};

function written(of: SealedEvents): { readonly ref: SealedRef; readonly bytes: Uint8Array } {
  const { ref, bytes } = encodeSealed({ ...of, commits: [encodeCommits(of.commits)] });
  return { ref: { ...ref, key: "here" }, bytes };
}

/** A document with changed content, and a reference with its new digest. */
function forged(change: (document: Record<string, unknown>) => unknown): () => unknown {
  const { ref, bytes } = written(events);
  const document = JSON.parse(decompress(bytes, { what: "it", bytesMax: 1e6 }).toString("utf8")) as Record<
    string,
    unknown
  >;
  const text = canonical(change(document));
  return () => decodeSealed({ ...ref, digest: sha256(text), bytes: Buffer.byteLength(text) }, compress(text));
}

const unreadable = (code: string) => expect.objectContaining({ name: "Unreadable", code }) as Error;

test("sealed events read back as they were written, also the first ones", () => {
  for (const each of [events, { ...events, from: 1, previous: null }]) {
    const { ref, bytes } = written(each);
    expect(decodeSealed(ref, bytes)).toEqual(each);
  }
});

test("equal commits give equal bytes and digests, different commits give different ones", () => {
  expect(written(structuredClone(events))).toEqual(written(events));
  expect(written({ ...events, previous: null }).ref.digest).not.toBe(written(events).ref.digest);
});

test("refuses sealed events with DigestMismatch when the reference has another digest", () => {
  const { ref, bytes } = written(events);
  expect(() => decodeSealed({ ...ref, digest: SHA }, bytes)).toThrow(unreadable("DigestMismatch"));
  expect(() => decodeSealed(ref, written({ ...events, to: 8 }).bytes)).toThrow(unreadable("DigestMismatch"));
});

test("refuses sealed events with damage at any byte", () => {
  const { ref, bytes } = written(events);
  for (let index = 0; index < bytes.length; index += 1) {
    const damaged = bytes.map((byte, at) => (at === index ? byte ^ 0x10 : byte));
    try {
      // A bit that the compression ignores leaves the same content.
      expect(decodeSealed(ref, damaged)).toEqual(events);
    } catch (error) {
      expect(error).toMatchObject({ name: "Unreadable" });
    }
  }
  expect(() => decodeSealed({ ...ref, bytes: ref.bytes - 1 }, bytes)).toThrow(unreadable("Unreadable"));
});

test("refuses sealed events of other versions than their reference says", () => {
  const { ref, bytes } = written(events);
  const other = "cover versions 5 to 9, not 5 to 10";
  expect(() => decodeSealed({ ...ref, to: 10 }, bytes)).toThrow(other);
  expect(() => decodeSealed({ ...ref, from: 4 }, bytes)).toThrow("not 4 to 9");
});

test("refuses sealed events of an unknown format or shape", () => {
  expect(forged((document) => document)).not.toThrow();
  const newer = forged((document) => ({ ...document, format: FORMAT + 1 }));
  expect(newer).toThrow(unreadable("UnknownFormat"));
  expect(newer).toThrow("sealed events here has format 3");
  expect(forged((document) => ({ ...document, commits: [{ version: 5 }] }))).toThrow(unreadable("Unreadable"));
  expect(forged((document) => ({ ...document, previous: { ...previous, digest: "0" } }))).toThrow("previous");
});

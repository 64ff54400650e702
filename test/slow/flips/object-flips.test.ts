/** Bits of stored objects that flip: whatever bit it is, a reader gets what was stored, or `Unreadable`. */
import { beforeAll, expect, test } from "vitest";
import { Unreadable } from "../../../src/codec/canonical.ts";
import { decodeSealed } from "../../../src/codec/sealed.ts";
import { decodeSnapshot } from "../../../src/codec/snapshot.ts";
import { decodeSegment } from "../../../src/codec/transcript.ts";
import { fromBlob } from "../../../src/codec/value.ts";
import { STRIDE } from "../../support/gate/stride.ts";
import { DamagedCopy, createLongRun } from "../../support/runs/damaged-copies.ts";

let of: DamagedCopy;

beforeAll(async () => {
  of = new DamagedCopy(await createLongRun());
});

const FLIPS_MAX = Math.floor(20_000 / STRIDE);

/** Flips each bit in turn, or of a large object some between its first bit and its last; which share was found out. */
function detectedFlips(bytes: Uint8Array, decode: (bytes: Uint8Array) => unknown): number {
  const whole = JSON.stringify(decode(bytes));
  const bits = bytes.length * 8;
  const step = Math.ceil(bits / FLIPS_MAX);
  let found = 0;
  for (let bit = 0; bit < bits; bit += step) {
    const flipped = Uint8Array.from(bytes);
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    try {
      if (JSON.stringify(decode(flipped)) !== whole) throw new Error(`bit ${bit} changes what is read`);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      found += 1;
    }
  }
  return found / Math.ceil(bits / step);
}

/** Compressed bytes have few bits that mean nothing. */
const NEARLY_ALL = 0.9;

test("every flipped bit of a snapshot is detected", () => {
  const bytes = of.object(of.row.snapshot.key);
  expect(detectedFlips(bytes, (each) => decodeSnapshot(of.row.snapshot, each))).toBeGreaterThan(NEARLY_ALL);
});

test("every flipped bit of sealed events is detected", () => {
  const { sealed } = of.newest;
  if (sealed === null) throw new Error("nothing is sealed");
  const bytes = of.object(sealed.key);
  expect(detectedFlips(bytes, (each) => decodeSealed(sealed, each))).toBeGreaterThan(NEARLY_ALL);
});

test("every flipped bit of a segment of the transcript is detected", () => {
  const [ref] = of.newest.state.manifest;
  const key = of.keys("segments").find((each) => ref !== undefined && each.includes(ref.sha256));
  if (ref === undefined || key === undefined) throw new Error("there is no segment");
  const bytes = of.object(key);
  expect(detectedFlips(bytes, (each) => decodeSegment(ref, each))).toBeGreaterThan(NEARLY_ALL);
});

test("every flipped bit of a large value is detected", () => {
  const [key = ""] = of.keys("blobs");
  const digest = /[0-9a-f]{64}/.exec(key)?.[0] ?? "";
  const bytes = of.object(key);
  expect(detectedFlips(bytes, (each) => fromBlob(digest, each))).toBeGreaterThan(NEARLY_ALL);
});

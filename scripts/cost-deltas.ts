/**
 * What it adds to 1,000 beats that a model streams: without a reader, and with one for replies of several lengths. The
 * code that streams is that of the engine; its clock is virtual, so a reply of a minute takes no time.
 */
import { virtualClock } from "../src/adapters/memory/clock.ts";
import { openDeltaStream } from "../src/features/live-text/delta-stream.ts";
import { attachReader } from "../src/operations/attach.ts";
import type { World } from "../src/ports/world.ts";
import type { Row } from "../src/protocol/row.ts";
import { nothing, priced } from "./cost-counts.ts";
import type { Process } from "./cost-worlds.ts";

/** What a model says in a tenth of a second, at about 80 tokens a second. */
const TENTH = "thirty two characters of a text ";

export async function measureDeltas(process_: Process): Promise<void> {
  const rows: Record<string, string | number>[] = [];
  for (const seconds of [null, 2, 8, 30]) {
    const counts = nothing();
    const clock = virtualClock(Date.now());
    const world = { ...process_({ beatsPerInvocation: 1, counts }), clock };
    const row = { run: `cost-${"d".repeat(26)}`, born: "aaaaaaaaaa", epoch: 1, version: seconds ?? 0 };
    if (seconds !== null) await attachReader(world, row.run);
    Object.assign(counts, nothing());
    await say(world, { row: row as Row, seconds: seconds ?? 8 });
    const { writes, writeUnits, reads, readUnits } = counts;
    const reader = seconds === null ? "none" : `a reply of ${seconds} s`;
    rows.push({
      reader,
      writes,
      writeUnits,
      reads,
      readUnits,
      "$ of 1,000": String(priced(counts, 1 / 1_000)["table $"]),
    });
  }
  console.table(rows);
  console.log("What the model call of one beat adds for readers. What the readers themselves ask is not counted.");
}

async function say(
  world: World & { readonly clock: ReturnType<typeof virtualClock> },
  { row, seconds }: { readonly row: Row; readonly seconds: number },
): Promise<void> {
  const stream = await openDeltaStream(world, row);
  for (let tenth = 0; tenth < seconds * 10; tenth += 1) {
    stream?.add({ kind: "text", index: 0, text: TENTH });
    world.clock.moveTo(world.clock.now() + 100);
    await new Promise((resolve) => setImmediate(resolve));
  }
  stream?.close();
}

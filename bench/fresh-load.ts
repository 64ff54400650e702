/** Loads a run as the first thing that a process does: `fresh-load.ts STORE RUN`. Prints the milliseconds. */
import { openStore } from "../src/adapters/local/store/database.ts";
import { withKernel } from "../src/features/compose.ts";
import { localWorld } from "../src/adapters/local/world.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import { SegmentCache, load } from "../src/history/load.ts";

const [, , dir = "", run = ""] = process.argv;
const store = openStore({ dir, create: false });
const world = withKernel(localWorld({ store, limits: limitsFor(60_000), telemetry: { record: () => undefined } }));
const begun = performance.now();
const row = await world.table.read(run, Date.now());
if (row === null) throw new Error("the run is gone");
await load(world, row, new SegmentCache());
console.log(performance.now() - begun);
store.close();

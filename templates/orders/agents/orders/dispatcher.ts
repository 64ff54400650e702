/**
 * Takes parcels from the queue and sends them, in a process of its own: `node agents/orders/dispatcher.ts`. With
 * `--once` it ends when the queue is empty.
 */
import { setTimeout as wait } from "node:timers/promises";
import { withWarehouse } from "./warehouse.ts";

const TAKE = `UPDATE parcels SET sent = datetime() WHERE sent IS NULL RETURNING "order", "to"`;

for (;;) {
  const sent = withWarehouse((database) => database.prepare(TAKE).all());
  for (const parcel of sent) console.log(`parcel of ${String(parcel["order"])} sent to ${String(parcel["to"])}`);
  if (process.argv.includes("--once")) break;
  await wait(500);
}

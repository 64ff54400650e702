/** Fulfils an order: reserves the goods, takes the payment, and hands the parcel to the queue of the warehouse. */
import { check, defineAgent, defineChaos, tool } from "cairn-run";
import { z } from "zod";
import { model } from "./model.ts";
import {
  enqueueParcel,
  fileOf,
  isQueued,
  readOrder,
  release,
  reserve,
  takePayment,
  withWarehouse,
} from "./warehouse.ts";

const order = z.string().regex(/^A-\d+(-\d+)?$/);
const input = z.object({ order });

export const orders = defineAgent({
  name: "orders",
  version: "1",
  model,
  price: { inUsd: 1, outUsd: 5 },
  instructions: "You fulfil an order: reserve the goods, take the payment, send the parcel. Each once, in this order.",
  task: input,
  budget: { usd: 0.5, beats: 12, toolCalls: 20 },

  tools: {
    // `keyed`: the key is the primary key of the reservation. If the run fails, the reservation is released.
    reserve: tool({
      description: "Reserves the goods of an order.",
      input,
      effect: "keyed",
      run: ({ input, key }) => reserve(input.order, key),
      undo: { effect: "keyed", run: ({ of }) => release(of.key) },
    }),

    // `unsafe`: the till can neither deduplicate nor be asked. After a crash in this call the run waits for you.
    takePayment: tool({
      description: "Takes the payment of an order.",
      input,
      effect: "unsafe",
      approval: ({ order }) => (readOrder(order).euros > 100 ? "it is more than 100 euros" : false),
      run: ({ input }) => takePayment(input.order),
    }),

    // `probed`: the queue would take the parcel twice, but it can be searched.
    sendParcel: tool({
      description: "Hands the parcel of an order to the warehouse.",
      input,
      effect: "probed",
      settleMs: 1_000, // the database is on this machine: a request lands at once or never
      run: ({ input, key }) => enqueueParcel(input.order, key),
      probe: ({ key }) => (isQueued(key) ? { kind: "happened", result: { queued: true } } : { kind: "absent" }),
    }),
  },

  done: [
    check(
      "sent-or-refused",
      ({ calls }) =>
        calls.some(({ tool, outcome }) => tool === "sendParcel" && outcome === "succeeded") || "no parcel was sent",
    ),
  ],
});

/** For `npx cairn chaos orders`: a database of its own stands in for the real one, and says what really happened. */
export const chaos = defineChaos({
  input: (task) => ({ order: `A-${1 + (task % 2)}-${task}` }),
  env: (dir) => ({ WAREHOUSE: dir }),
  // A large payment asks for approval.
  decide: () => "approve",
  standIns: { reserve: "service", takePayment: "service", sendParcel: "service" },
  effects: (dir) =>
    withWarehouse((database) => {
      const rows = database
        .prepare(
          `SELECT 'reserve' AS tool, key AS id, "order" FROM reservations WHERE released = 0
           UNION ALL SELECT 'takePayment', id, "order" FROM payments UNION ALL SELECT 'sendParcel', rowid, "order" FROM parcels`,
        )
        .all();
      return rows.map(({ tool, id, order: of }) => ({ tool: String(tool), id: String(id), of: String(of) }));
    }, fileOf(dir)),
});

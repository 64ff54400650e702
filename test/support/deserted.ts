/** Abandoned runs, as a sweeper finds them. */
import { begin, attempt, runnerOf } from "./drive.ts";
import { type Room, close, supervise } from "./supervise.ts";
import { actor, callsThenOver, dieInTool, replyOf, rowOf } from "./stage.ts";

/** A run that waits for an operator, parked by its execution. */
export async function parked(on: Room) {
  const agent = actor({});
  const payload = await begin(on.world, agent, {});
  await on.world.table.request({ ...payload, now: on.clock.now(), want: "pause" });
  const row = await supervise(on, { agent, run: payload.run, until: (row) => row.park !== null });
  return { agent, run: payload.run, row };
}

/** A run that released its lease and whose execution is about to start its next beat. */
export async function between(on: Room) {
  const agent = actor({ reply: callsThenOver(2) });
  const payload = await begin(on.world, agent, {});
  await replyOf(attempt(runnerOf(on.world, agent), payload));
  return { agent, run: payload.run, row: rowOf(on, payload.run) };
}

/** A run whose beat died in its tool call and whose execution has ended. */
export async function dead(on: Room, effect: "keyed" | "unsafe" = "unsafe") {
  const agent = actor({ effect });
  const payload = await begin(on.world, agent, {});
  await dieInTool(on, { payload, agent });
  close(on, payload);
  return { agent, payload, run: payload.run, row: rowOf(on, payload.run) };
}

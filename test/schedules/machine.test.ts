/** An execution of the machine of AWS: what it carries over from attempt to attempt. */
import { expect, test } from "vitest";
import { StoreUnreachable } from "../../src/ports/world.ts";
import { dies, done, entered, toTheEnd } from "../support/machine-runs.ts";
import { actor, rowOf, stage } from "../support/stage.ts";
import { meeting, withTakeovers } from "../support/steps.ts";

test("schedule 101: a process dies, and then a store is away: that death is remembered, and the outage is none", async () => {
  const on = stage();
  const by = { world: on.world, agent: withTakeovers(actor({}), 0) };
  const away = meeting(on.world, "claim", () => () => Promise.reject(new StoreUnreachable("the table is away")));
  const outage = await entered(on, by.agent);
  await toTheEnd(on, await done(await done(outage.machine, { ...by, world: away }), { ...by, world: away }), by);
  expect(rowOf(on, outage.run)).toMatchObject({ status: "completed", takeovers: 0 });
  const death = await entered(on, by.agent);
  await toTheEnd(on, await done(await dies(death.machine, by), { ...by, world: away }), by);
  expect(rowOf(on, death.run)).toMatchObject({ status: "failed", phase: "Failed", takeovers: 1 });
});

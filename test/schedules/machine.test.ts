/** An execution of the machine of AWS: what it carries over from attempt to attempt. */
import { expect, test } from "vitest";
import { StoreUnreachable } from "../../src/ports/world.ts";
import {
  crashMachineTask,
  performMachineTask,
  startMachineRun,
  runMachineToEnd,
} from "../support/aws/state-machine-runs.ts";
import { scriptedAgent, createHarness } from "../support/harness/harness.ts";
import { wrapTableCall, withTakeovers } from "../support/harness/chain-steps.ts";

test("schedule 101: a process dies, and then a store is unavailable: the death is kept, and the outage is not counted as one", async () => {
  const harness = createHarness();
  const by = { world: harness.world, agent: withTakeovers(scriptedAgent({}), 0) };
  const away = wrapTableCall(
    harness.world,
    "claim",
    () => () => Promise.reject(new StoreUnreachable("the table is away")),
  );
  const outage = await startMachineRun(harness, by.agent);
  await runMachineToEnd(
    harness,
    await performMachineTask(await performMachineTask(outage.machine, { ...by, world: away }), { ...by, world: away }),
    by,
  );
  expect(harness.row(outage.run)).toMatchObject({ status: "completed", takeovers: 0 });
  const death = await startMachineRun(harness, by.agent);
  await runMachineToEnd(
    harness,
    await performMachineTask(await crashMachineTask(death.machine, by), { ...by, world: away }),
    by,
  );
  expect(harness.row(death.run)).toMatchObject({ status: "failed", phase: "Failed", takeovers: 1 });
});

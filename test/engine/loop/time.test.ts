/** Time at work and lost model calls, where a commit lies between what was spent and the death that hides it. */
import { expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import { timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import type { Payload, TaskResult } from "../../../src/protocol/chain.ts";
import { attemptBeat, beginRun, drive, killableWorld, runnerOf } from "../../support/harness/drive.ts";
import { grantBudget, withBudget } from "../../support/agents/budget-gates.ts";
import {
  type Harness,
  FINAL_REPLY,
  scriptedAgent,
  callsThenFinal,
  neverSettles,
  createHarness,
} from "../../support/harness/harness.ts";

function replyOf(result: TaskResult): Payload {
  if (result.kind !== "beat") throw new Error(`it answered ${result.kind}`);
  return result.reply;
}

/** One invocation after the other that dies where `hang` is called. */
async function die(
  harness: Harness,
  of: { readonly agent: Agent; readonly payload: Payload; readonly times: number; readonly ms: number },
  hanging: (hung: () => void) => void,
): Promise<void> {
  for (let retry = 0; retry < of.times; retry += 1) {
    const mortals = killableWorld(harness.world);
    const hung = new Promise<void>((resolve) => hanging(resolve));
    void attemptBeat(runnerOf(mortals.world, of.agent), of.payload, retry).catch(() => undefined);
    await hung;
    mortals.kill();
    harness.clock.moveTo(harness.clock.now() + of.ms);
  }
}

test("an invocation that dies after its own commit has worked until that commit", async () => {
  const harness = createHarness();
  let hung = (): void => {};
  const run = (): unknown => {
    hung();
    return neverSettles();
  };
  const agent = withBudget(scriptedAgent({ run, timeoutMs: 2_500 }), { wall: 3_000, takeovers: 10 });
  const payload = await beginRun(harness.world, agent, {});
  await die(harness, { agent, payload, times: 8, ms: 2_000 }, (resolve) => (hung = resolve));
  const fine = { ...agent, tools: { ...agent.tools, act: { ...agent.tools["act"], run: () => "acted" } } } as Agent;
  const next = replyOf(await attemptBeat(runnerOf(harness.world, fine), payload, 8));
  await drive(runnerOf(harness.world, fine), next);
  expect(harness.row(payload.run).spent.wallMs ?? 0).toBeGreaterThanOrEqual(8 * 2_000);
});

test("a run that was paused over a lost model call has not worked during the pause", async () => {
  const harness = createHarness();
  let hung: (() => void) | null = null;
  const reply = (): never | typeof FINAL_REPLY => {
    if (hung === null) return FINAL_REPLY;
    hung();
    return neverSettles() as never;
  };
  const agent = withBudget(scriptedAgent({ reply }), { wall: 60_000 });
  const payload = await beginRun(harness.world, agent, {});
  await die(harness, { agent, payload, times: 1, ms: 500 }, (resolve) => (hung = resolve));
  hung = null;
  await sendRequest(harness.world, { run: payload.run, want: "pause" });
  const paused = replyOf(await harness.advanceUntilSettled(attemptBeat(runnerOf(harness.world, agent), payload, 1)));
  const atPause = harness.row(payload.run).spent.wallMs ?? 0;
  harness.clock.moveTo(harness.clock.now() + 3_600_000);
  await sendRequest(harness.world, { run: payload.run, want: "resume" });
  await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), paused));
  const { status, spent } = harness.row(payload.run);
  expect(status).toBe("completed");
  expect((spent.wallMs ?? 0) - atPause).toBeLessThan(200);
});

test("a model call that is lost right after a decision is debited", async () => {
  const harness = createHarness();
  let hung: (() => void) | null = null;
  const reply = (conversation: Parameters<ReturnType<typeof callsThenFinal>>[0]) => {
    if (hung === null) return callsThenFinal(2)(conversation);
    hung();
    return neverSettles() as never;
  };
  const agent = withBudget(scriptedAgent({ reply }), { onExhausted: "ask", beats: 1 });
  const payload = replyOf({
    kind: "beat",
    reply: await drive(runnerOf(harness.world, agent), await beginRun(harness.world, agent, {})),
  });
  await grantBudget(harness.world, { run: payload.run, more: { beats: 5 } });
  await die(harness, { agent, payload, times: 3, ms: 0 }, (resolve) => (hung = resolve));
  hung = null;
  await attemptBeat(runnerOf(harness.world, agent), payload, 4);
  const events = (await timeline(harness.world, { run: payload.run, after: 0 })) ?? [];
  const lost = events.flatMap((event) => (event.kind === "ModelCallLost" ? [event.calls] : []));
  expect(lost.reduce((sum, calls) => sum + calls, 0)).toBe(3);
});

/** Time at work and lost model calls, where a commit lies between what was spent and the death that hides it. */
import { expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import { timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import type { Payload, TaskResult } from "../../../src/protocol/chain.ts";
import { attempt, begin, drive, mortal, runnerOf } from "../../support/drive.ts";
import { give, withBudget } from "../../support/spending.ts";
import { type Stage, OVER, actor, callsThenOver, never, passing, rowOf, stage } from "../../support/stage.ts";

function replyOf(result: TaskResult): Payload {
  if (result.kind !== "beat") throw new Error(`it answered ${result.kind}`);
  return result.reply;
}

/** One invocation after the other that dies where `hang` is called. */
async function die(
  on: Stage,
  of: { readonly agent: Agent; readonly payload: Payload; readonly times: number; readonly ms: number },
  hanging: (hung: () => void) => void,
): Promise<void> {
  for (let retry = 0; retry < of.times; retry += 1) {
    const mortals = mortal(on.world);
    const hung = new Promise<void>((resolve) => hanging(resolve));
    void attempt(runnerOf(mortals.world, of.agent), of.payload, retry).catch(() => undefined);
    await hung;
    mortals.kill();
    on.clock.moveTo(on.clock.now() + of.ms);
  }
}

test("an invocation that dies after its own commit was at work until then", async () => {
  const on = stage();
  let hung = (): void => {};
  const run = (): unknown => {
    hung();
    return never();
  };
  const agent = withBudget(actor({ run, timeoutMs: 2_500 }), { wall: 3_000, takeovers: 10 });
  const payload = await begin(on.world, agent, {});
  await die(on, { agent, payload, times: 8, ms: 2_000 }, (resolve) => (hung = resolve));
  const fine = { ...agent, tools: { ...agent.tools, act: { ...agent.tools["act"], run: () => "acted" } } } as Agent;
  const next = replyOf(await attempt(runnerOf(on.world, fine), payload, 8));
  await drive(runnerOf(on.world, fine), next);
  expect(rowOf(on, payload.run).spent.wallMs ?? 0).toBeGreaterThanOrEqual(8 * 2_000);
});

test("a run that was paused over a lost model call was not at work while it was paused", async () => {
  const on = stage();
  let hung: (() => void) | null = null;
  const reply = (): never | typeof OVER => {
    if (hung === null) return OVER;
    hung();
    return never() as never;
  };
  const agent = withBudget(actor({ reply }), { wall: 60_000 });
  const payload = await begin(on.world, agent, {});
  await die(on, { agent, payload, times: 1, ms: 500 }, (resolve) => (hung = resolve));
  hung = null;
  await sendRequest(on.world, { run: payload.run, want: "pause" });
  const paused = replyOf(await passing(on, attempt(runnerOf(on.world, agent), payload, 1)));
  const atPause = rowOf(on, payload.run).spent.wallMs ?? 0;
  on.clock.moveTo(on.clock.now() + 3_600_000);
  await sendRequest(on.world, { run: payload.run, want: "resume" });
  await passing(on, drive(runnerOf(on.world, agent), paused));
  const { status, spent } = rowOf(on, payload.run);
  expect(status).toBe("completed");
  expect((spent.wallMs ?? 0) - atPause).toBeLessThan(200);
});

test("a model call that is lost right after a decision is debited", async () => {
  const on = stage();
  let hung: (() => void) | null = null;
  const reply = (conversation: Parameters<ReturnType<typeof callsThenOver>>[0]) => {
    if (hung === null) return callsThenOver(2)(conversation);
    hung();
    return never() as never;
  };
  const agent = withBudget(actor({ reply }), { onExhausted: "ask", beats: 1 });
  const payload = replyOf({
    kind: "beat",
    reply: await drive(runnerOf(on.world, agent), await begin(on.world, agent, {})),
  });
  await give(on.world, { run: payload.run, more: { beats: 5 } });
  await die(on, { agent, payload, times: 3, ms: 0 }, (resolve) => (hung = resolve));
  hung = null;
  await attempt(runnerOf(on.world, agent), payload, 4);
  const events = (await timeline(on.world, { run: payload.run, after: 0 })) ?? [];
  const lost = events.flatMap((event) => (event.kind === "ModelCallLost" ? [event.calls] : []));
  expect(lost.reduce((sum, calls) => sum + calls, 0)).toBe(3);
});

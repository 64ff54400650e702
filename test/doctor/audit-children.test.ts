/** The recovery audit of an agent that dispatches child runs. */
import { expect, test } from "vitest";
import { z } from "zod";
import type { Agent, Tool } from "../../src/ports/agent.ts";
import { audit } from "../../src/doctor/audit.ts";
import { tool } from "../../src/index.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { boss } from "../support/agents/workers.ts";

const LIMITS = limitsFor(60_000);

test("a child tool is audited as what it is: a run that goes on, until its deadline", () => {
  const of = (child: Parameters<typeof boss>[0]) => audit(boss(child), LIMITS).tools.find(({ tool }) => tool === "ask");
  expect(of({ child: { deadlineMs: 90_000 } })).toMatchObject({
    timeoutMs: 90_000,
    // Two runs of one task have keys of their own, so no service could deduplicate what they do.
    idempotent: false,
    decisionPoint: false,
    recovery: {
      inWords:
        "the run of worker goes on by itself, and its report comes once; if it fails, the model gets what it did, and an unknown outcome blocks the run; where it did nothing outside and can do nothing any more, another run is made, 2 in all",
    },
  });
  expect(of({ child: { tries: 1 } })?.recovery.inWords).toMatch(/blocks the run; no other run is made$/);
  expect(of({ child: { wait: false } })?.recovery.inWords).toBe(
    "the run of worker is made once, and works on without its parent",
  );
});

test("a child tool may take longer than a beat, since its parent waits without a process", () => {
  const missing = (agent: Agent) => audit(agent, LIMITS).missing.map(({ what }) => what);
  const waiting = boss({ child: { deadlineMs: 90_000 } });
  expect(missing(waiting)).toEqual(["budget", "done", "crack"]);
  expect(missing(boss({ child: { wait: false } }))).toEqual(["budget", "done", "crack"]);
  // Its own tools still have to fit.
  const fire = tool({ input: z.object({}), effect: "unsafe", run: () => "fired", timeoutMs: 90_000 }) as Tool;
  const tools = { ...waiting.tools, fire: fire };
  const late = audit({ ...waiting, tools }, LIMITS).missing.find(({ what }) => what === "timeout");
  expect(late?.why).toMatch(/^fire may take longer than the 45000 ms/);
});

test("an agent with child tools is watched for the cracks of an orchestrator, whatever its topology is", () => {
  const cracks = audit(boss(), LIMITS).cracks.map(({ crack, alarm }) => `${crack} ${alarm ?? "unseen"}`);
  expect(cracks.slice(-3)).toEqual([
    "lostHandoff lost-handoff",
    "bossDeath boss-death",
    "workerSilence worker-silence",
  ]);
});

/** "It exists already": an error of the other side that says that our call happened is no failure. */
import { describe, expect, test } from "vitest";
import type { Tool } from "../../src/ports/agent.ts";
import { OutcomeUnknown } from "../../src/index.ts";
import { shownLedger } from "../../src/operations/ledger-view.ts";
import { ledger, timeline } from "../../src/operations/views.ts";
import { toolResultsOf } from "../support/agents/approval-agent.ts";
import { replyWithCalls, sideEffectAgent } from "../support/agents/side-effect-agent.ts";
import { beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { createHarness } from "../support/harness/harness.ts";

class Exists extends Error {
  readonly status = 409;
}

const onExists = (error: unknown): unknown => (error instanceof Exists ? { reference: "R7" } : null);
const externalId: Tool["externalId"] = (result) => (result as { reference?: string } | null)?.reference ?? null;

/** One call whose tries end so, one after the other. */
async function tried(said: Partial<Tool>, ...ends: readonly Error[]) {
  const harness = createHarness();
  let tries = 0;
  const run = (): never => {
    tries += 1;
    throw ends[tries - 1] as Error;
  };
  const of = sideEffectAgent({
    reply: replyWithCalls([["pay", "ada", 5]]),
    pay: { onExists, externalId, ...said } as object,
    run,
  });
  const payload = await beginRun(harness.world, of.agent, {});
  const reply = await harness.advanceUntilSettled(drive(runnerOf(harness.world, of.agent), payload));
  const events = (await timeline(harness.world, { run: reply.run, after: 0 })) ?? [];
  return { harness, reply, tries: () => tries, events, entry: (await ledger(harness.world, reply.run))?.[0] };
}

const exists = new Exists("409 this order exists");

describe("an error that reports an existing effect", () => {
  test("settles a keyed call as reconciled by the external service, with evidence and its external ID", async () => {
    const { harness, reply, tries, events, entry } = await tried({}, new OutcomeUnknown("the answer was lost"), exists);
    expect(reply.route).toBe("done");
    expect(events.filter(({ kind }) => kind.startsWith("ToolResult"))).toMatchObject([
      {
        ...{ kind: "ToolResultReconciled", evidence: "409 this order exists", externalId: "R7" },
        answer: { as: "succeeded", by: "external service" },
      },
    ]);
    expect(entry).toMatchObject({ status: "reconciled", externalId: "R7" });
    expect(tries()).toBe(2);
    expect(entry?.evidence).toBe("external service says: succeeded (409 this order exists)");
    expect(await toolResultsOf(harness, reply.run)).toMatchObject([
      { outcome: "succeeded", value: { json: { reference: "R7" } } },
    ]);
  });

  test("settles a probed call without a probe", async () => {
    const probe = () => ({ kind: "absent" }) as const;
    const { entry } = await tried({ effect: "probed", probe }, exists);
    expect(entry).toMatchObject({ status: "reconciled", attempts: 1, externalId: "R7" });
  });
});

describe("an error stays a failure", () => {
  const throws = (): never => {
    throw new Error("no such field");
  };
  test.each<[string, unknown, Error, string]>([
    ["where the error says something else", onExists, new Error("the card is declined"), "the tool threw"],
    ["where reading it throws", throws, exists, "the tool threw, and so did its onExists: no such field"],
    ["where reading it takes its time", () => Promise.reject(new Error("late")), exists, "its onExists gave a promise"],
    ["where it says undefined", () => undefined, exists, "the tool threw"],
  ])("%s", async (_, read, error, evidence) => {
    const { harness, reply, entry } = await tried({ onExists: read as Tool["onExists"] }, error);
    expect(entry).toMatchObject({ status: "failed", attempts: 1 });
    expect(entry?.evidence).toContain(evidence);
    const shown = await shownLedger(harness.world, reply.run);
    expect(shown?.map((each) => each.evidence)).toEqual([`${entry?.evidence ?? ""}: ${error.message}`]);
    expect(await toolResultsOf(harness, reply.run)).toMatchObject([
      { outcome: "failed", value: { json: error.message } },
    ]);
  });
});

test("a value of onExists that cannot be stored is reported, and the call counts as happened", async () => {
  const { harness, reply, entry } = await tried({ onExists: () => 10n }, exists);
  expect(entry).toMatchObject({ status: "reconciled", externalId: null });
  expect(JSON.stringify(await toolResultsOf(harness, reply.run))).toContain("ResultRefused");
});

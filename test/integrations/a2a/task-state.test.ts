/** The state of a task, from the document of its run. */
import type { AnyRun } from "../../../src/client/client.ts";
import { expect, test } from "vitest";
import { openBefore, openIn, a2aTaskOf } from "../../../src/integrations/a2a/a2a-task.ts";

const runOf = (part: Partial<AnyRun>): AnyRun =>
  ({
    ...{ run: "local-a", version: 3, status: "running", label: "thinking", failure: null, result: null },
    ...{ gates: [], waits: [], inProgress: true, lastCheckpointAt: 1, statusSince: 2 },
    ...part,
  }) as unknown as AnyRun;

test("a task whose run waits for an operator requires input, and says for what; one that works or is paused does not", () => {
  const label = "waits for an operator: the outcome of send (c1) is unknown";
  const blocked = runOf({ status: "blocked", label });
  const { state, message } = a2aTaskOf(blocked, "I send it now.").status;
  expect({ state, parts: message.parts }).toEqual({ state: "TASK_STATE_INPUT_REQUIRED", parts: [{ text: label }] });
  expect({ open: openIn(blocked), openBefore: openBefore(blocked) }).toEqual({ open: ["operator:2"], openBefore: [] });
  for (const status of ["running", "waiting", "queued", "paused"] as const) {
    expect({ status, state: a2aTaskOf(runOf({ status }), null).status.state }).toEqual({
      status,
      state: "TASK_STATE_WORKING",
    });
  }
});

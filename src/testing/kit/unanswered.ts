/** What a test is told when its run waits for something that no option answers. */
import assert from "node:assert/strict";
import type { UnknownCall } from "../../operations/views.ts";
import type { OpenWait } from "../../operations/wait-views.ts";

export function noTruth({ call, tool, key }: UnknownCall): assert.AssertionError {
  const message =
    `the outcome of call ${call} of ${tool} is unknown, and the run waits for an operator: ` +
    `pass the service that it calls, or reconcile: (call) => ({ kind: "happened", result }), or let onUnknown of the tool decide. Its key is ${key}`;
  return new assert.AssertionError({ message });
}

export function neverKnown(agent: string): assert.AssertionError {
  const message =
    `calls of agent ${agent} are repeated again and again, since their outcome is unknown each time and no service knows ` +
    "of them: let the service reply, or pass reconcile: () => null, so that onUnknown of the tool decides";
  return new assert.AssertionError({ message });
}

export function noInput({ call, tool, for: what, event }: OpenWait): assert.AssertionError {
  const waits = what === "answer" ? "for a human's answer" : `for event ${event ?? ""}`;
  const message =
    `call ${call} of ${tool} waits ${waits} without a limit: ` +
    `pass answer: ({ tool, args }) => (tool === "${tool}" ? VALUE : undefined)`;
  return new assert.AssertionError({ message });
}

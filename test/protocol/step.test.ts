/** What became of a model call whose text was streamed (schedule 182). */
import { describe, expect, test } from "vitest";
import { type StepEvidence, fateOf } from "../../src/protocol/step.ts";

const STEP = { epoch: 4, version: 7 };
const AT_WORK = { epoch: 4, version: 7, hasEnded: false };
const REPLY = { epoch: 4, hasReply: true };

const fate = (row: Partial<StepEvidence["row"]> = {}, next: StepEvidence["next"] = null) =>
  fateOf(STEP, { row: { ...AT_WORK, ...row }, next });

describe("before the next commit", () => {
  test("the step is open while its invocation holds the run", () => {
    expect(fate()).toBe("open");
    // A reader may be ahead of the row that it read.
    expect(fate({ version: 6 })).toBe("open");
  });

  test("it is lost with its invocation, and with the end of the run", () => {
    expect(fate({ epoch: 5 })).toBe("lost");
    expect(fate({ hasEnded: true })).toBe("lost");
  });

  test("no reply counts that the row does not know", () => {
    expect(fate({}, REPLY)).toBe("open");
  });
});

describe("after the next commit", () => {
  test("the step has its reply, if that commit is of its invocation and holds one", () => {
    expect(fate({ version: 8 }, REPLY)).toBe("replied");
    expect(fate({ version: 9, epoch: 6, hasEnded: true }, REPLY)).toBe("replied");
  });

  test("it is lost by the commit of another invocation, by one without a reply, and if no reader has read it", () => {
    expect(fate({ version: 8 }, { ...REPLY, epoch: 5 })).toBe("lost");
    expect(fate({ version: 8 }, { ...REPLY, hasReply: false })).toBe("lost");
    expect(fate({ version: 8 })).toBe("lost");
  });
});

/** Whether a list has to look into the state of a run to know if it asks a human. */
import { expect, test } from "vitest";
import { mayAsk } from "../../src/protocol/row-brief.ts";

const brief = { limits: {}, cracks: [], isScheduled: false };

test("a run may ask if its last commit said so, if none has said anything, or if its store was restored", () => {
  expect({
    asks: mayAsk({ brief: { ...brief, asks: true } }),
    unknown: mayAsk({}),
    restored: mayAsk({ brief, restored: {} }),
    asksNothing: mayAsk({ brief }),
  }).toEqual({ asks: true, unknown: true, restored: true, asksNothing: false });
});

/** What a commit adds to the spend of the day. */
import { expect, test } from "vitest";
import type { Event } from "../../../src/core/event.ts";
import { countSpend } from "../../../src/features/spend-caps/count-spend.ts";
import { spentToday } from "../../../src/features/spend-caps/today.ts";
import { cappedHarness } from "../../support/agents/priced.ts";

const debit = (microUsd: number, child?: string): Event => ({
  ...{ kind: "BudgetDebited", at: 1, debit: { microUsd }, for: "m" },
  ...(child !== undefined && { child }),
});

test("counts the calls of the run itself, since its children count their own", async () => {
  const { world } = cappedHarness(100);
  const invocation = { deadline: world.clock.now() + 60_000, drain: new AbortController().signal };
  await countSpend({ world, invocation }, [debit(5), debit(7), debit(100, "local-child")]);
  expect(await spentToday(world)).toBe(12);
});

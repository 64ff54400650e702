/** What the audit says about the model that writes the summaries of an agent. */
import { expect, test } from "vitest";
import { z } from "zod";
import { plain } from "../../src/render/paint.ts";
import { renderAudit } from "../../src/render/audit.ts";
import { audit } from "../../src/doctor/audit.ts";
import { defineAgent, scriptedModel } from "../../src/index.ts";
import { limitsFor } from "../../src/protocol/limits.ts";

const LIMITS = limitsFor(60_000);

test("the model that writes summaries is named, with what follows if it fails", () => {
  const cheap = (context: object) =>
    defineAgent({
      ...{ name: "saver", version: "1", instructions: "", model: "anthropic:big", task: z.object({}), tools: {} },
      ...{ models: { cheap: "anthropic:small" }, context },
    });
  const found = audit(cheap({ model: "cheap" }), LIMITS);
  expect(found.context).toEqual({
    kind: "context",
    model: "anthropic:small",
    inWords:
      "anthropic:small writes them; if it fails, it is called 3 times more or not at all, then the working model writes the summary",
  });
  const page = { agent: cheap({ model: "cheap" }), paint: plain, width: 200 };
  expect(renderAudit(found, page)).toContain("\ncontext\nsummaries  anthropic:small writes them;");
  expect(audit(cheap({ tokensMax: 9 }), LIMITS).context).toBeNull();
  expect(
    audit(cheap({ model: scriptedModel({ name: "tiny", reply: () => ({ text: "x" }) }) }), LIMITS).context?.model,
  ).toBe("tiny");
});

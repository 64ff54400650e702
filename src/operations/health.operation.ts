import * as z from "zod";
import { type HealthShown, healthOf } from "./health.ts";
import { RESPONSES, operation } from "./operation.ts";
import type { Syntaxes } from "./syntax.ts";

export const healthOperation = operation({
  scope: "admin",
  writes: false,
  typed: [{ command: "health" }],
  help: "count the live runs, and show what was spent today against the caps, as JSON; doctor checks the rest",
  input: z.strictObject({}),
  run: (context): Promise<HealthShown> => healthOf(context),
  outcomes: { shown: RESPONSES.shown },
  over: ["store", "http"],
  http: { method: "get", path: "/health" },
});

export const healthSyntax = (): Syntaxes => ({ health: { group: "Inspecting" } });

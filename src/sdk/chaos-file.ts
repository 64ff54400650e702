/**
 * Loads and validates the `chaos` export of an agent file. It is separate from `chaos.ts`, which agents import: that
 * import becomes part of the deployed bundle, and this code must not.
 */
import * as z from "zod";
import type { Chaos, OutsideEffect } from "./chaos.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { importFile } from "./import-file.ts";

const fn = z.custom<never>((value) => typeof value === "function", "it is not a function");
const shape = z.object({
  input: fn,
  env: fn,
  prepare: fn,
  effects: fn.nullable(),
  normalise: fn,
  answer: fn.optional(),
  standIns: z.record(z.string(), z.union([z.literal("service"), fn])),
  decide: fn.optional(),
});

/** The `chaos` export of the file, or null if it has none. Throws `AgentInvalid`. */
export async function chaosIn(file: string): Promise<Chaos | null> {
  const imported = await importFile(file);
  if (imported.kind === "broken") throw new AgentInvalid(`agent file ${file} cannot be loaded: ${imported.why}`);
  const { chaos } = imported.exported;
  if (chaos === undefined) return null;
  if (shape.safeParse(chaos).success) return chaos as Chaos;
  throw new AgentInvalid(
    `chaos of ${file} is not understood: write export const chaos = defineChaos({ input, effects })`,
  );
}

const effects = z.array(z.object({ tool: z.string(), id: z.string(), of: z.string() }));

/** The effects that the external service reports, validated, because user code returns them. Throws `AgentInvalid`. */
export async function effectsSeen(chaos: Chaos, dir: string): Promise<readonly OutsideEffect[]> {
  const seen = effects.safeParse(await chaos.effects?.(dir));
  if (seen.success) return seen.data;
  const issue = seen.error.issues[0];
  throw new AgentInvalid(
    `the effects function of chaos returned an invalid effect: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`,
  );
}

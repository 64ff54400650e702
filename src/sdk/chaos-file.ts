/**
 * What an agent's file says for `cairn chaos`, read and checked. Apart from `chaos.ts`, which agents import: what they
 * import goes with them to where they are deployed.
 */
import * as z from "zod";
import type { Chaos, OutsideEffect } from "./chaos.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { importFile } from "./import-file.ts";

const fn = z.custom<never>((value) => typeof value === "function", "it is no function");
const shape = z.object({ input: fn, env: fn, prepare: fn, effects: fn.nullable(), normalise: fn });

/** What that file says of it, or null. Throws `AgentInvalid`. */
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

/** What the other side says, checked: it comes from somebody else's code. */
export async function effectsSeen(chaos: Chaos, dir: string): Promise<readonly OutsideEffect[]> {
  const seen = effects.safeParse(await chaos.effects?.(dir));
  if (seen.success) return seen.data;
  const issue = seen.error.issues[0];
  throw new AgentInvalid(`the effects of chaos: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`);
}

/** How one type of resource is applied: which inputs the description may give, and how the service is called. */
import * as z from "zod";
import type { Clients } from "./clients.ts";

/** The attributes of an applied resource, for the resources that refer to it. */
export type Attributes = Readonly<Record<string, string>>;

export interface Applying {
  readonly clients: Clients;
  /** The name of the resource within the description. */
  readonly name: string;
  /** The prefix of every name in the deployment, for a resource without a name in the description. */
  readonly prefix: string;
  /** Runs in the background while other resources are applied; `apply` waits for it at the end. */
  readonly later: (work: () => Promise<void>) => void;
}

export interface Kind {
  /** Throws if the description asks for something that is not applied here, so that nothing is left out silently. */
  readonly check: (inputs: unknown) => void;
  readonly apply: (inputs: unknown, of: Applying) => Promise<Attributes>;
}

/** A kind whose inputs have that schema. */
export function kind<Inputs>(
  inputs: z.ZodType<Inputs>,
  apply: (inputs: Inputs, of: Applying) => Promise<Attributes>,
): Kind {
  return { check: (given) => void inputs.parse(given), apply: (given, of) => apply(inputs.parse(given), of) };
}

/** A policy document, as text or as an object; the output is text. */
export const policy = z
  .union([z.string(), z.object({ Statement: z.array(z.unknown()) }).loose()])
  .transform((given) => (typeof given === "string" ? given : JSON.stringify(given)));

/** The answer, or null if the service fails with one of these error names, which say that the thing is missing. */
export async function found<T>(asked: Promise<T>, ...missing: readonly string[]): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Error && missing.includes(error.name)) return null;
    throw error;
  }
}

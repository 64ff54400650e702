/** The context options of an agent: how much of its transcript its model may be shown. */
import * as z from "zod";

/** When a summary replaces older messages that the model sees. */
export interface ContextOptions {
  /**
   * The most tokens of a request to the model. After a request with over 80 % of it, a summary replaces older messages.
   * Without this option, that happens when the provider reports that the context is too long.
   */
  readonly tokensMax?: number;
}

export const contextSchema = z.strictObject({ tokensMax: z.int().positive().optional() });

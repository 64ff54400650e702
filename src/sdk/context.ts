/** How much of its transcript an agent's model may be shown. */
import * as z from "zod";

export interface ContextOptions {
  /**
   * How many tokens a question may have. Once one had over 80 % of it, a summary takes the place of what is older. Without
   * it that happens when the provider says that the context is too long.
   */
  readonly tokensMax?: number;
}

export const contextSchema = z.strictObject({ tokensMax: z.int().positive().optional() });

/**
 * Compensation (seed 4): how a tool's effect is undone, and what an agent wants done about a run that fails with effects
 * behind it.
 */
import type { Saga } from "../ports/agent.ts";
import * as z from "zod";

/** What follows when a run has failed and things that it did stand. */
export interface SagaOptions {
  /** `undo` (unless told): in reverse order, before the run ends. `leave`: a person looks after it. */
  readonly onFailure?: "undo" | "leave";
  /**
   * The same where the run itself made no mistake: its model's provider was unavailable for too long. `leave` unless told.
   * Where its processes died, everything is left in any case.
   */
  readonly onOutage?: "undo" | "leave";
  /** How often it begins again from its task once everything is undone; 0 unless told. Money that is spent stays spent. */
  readonly restarts?: number;
  /** Whether it begins again although effects stand that nobody can undo: they may be doubled. `nothing` unless told. */
  readonly leaving?: "nothing" | "effects";
}

const RESTARTS_MAX = 10;

const schema = z.strictObject({
  onFailure: z.enum(["undo", "leave"]).default("undo"),
  onOutage: z.enum(["undo", "leave"]).default("leave"),
  restarts: z.int().min(0).max(RESTARTS_MAX).default(0),
  leaving: z.enum(["nothing", "effects"]).default("nothing"),
});

/** Or what is wrong with the options. */
export function sagaOf(options: SagaOptions = {}): Saga | string {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  return parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
}

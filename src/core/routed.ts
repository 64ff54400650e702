/**
 * Why a model call went to another model than the agent's own. `fallback`: the own
 * model was unavailable. `role`: the topology names a model for this call.
 */
export interface Routed {
  readonly by: "fallback" | "role";
  readonly why: string;
}

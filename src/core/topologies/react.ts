/**
 * ReAct: the model plans one step at a time, sees what it did, and stops when it has nothing left to call. Its first
 * crack is running away (seed 4), so it has a cap on beats that counts those before a crash too.
 */
export interface Topology {
  readonly kind: "react";
  readonly maxBeats: number;
}

export const react = (options: { readonly maxBeats: number }): Topology => ({ kind: "react", ...options });

/** What came of asking code that is not cairn's (`tools/ask-in-time.ts`). `late`: no answer in time; it may still run. */
export type SaidInTime<T> =
  | { readonly kind: "said"; readonly value: T }
  | { readonly kind: "threw"; readonly why: string; readonly error: unknown }
  | { readonly kind: "late"; readonly why: string };

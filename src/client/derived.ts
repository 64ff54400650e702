/** The methods that the client derives from the places of the operations: the fields of the path, then the rest. */
import type { InputTo } from "../operations/caller-outcome.ts";
import type { AnswerTo } from "./outcomes.ts";
import { type FieldsIn, PLACES, type RoutedOperation } from "../operations/places.ts";
import type { GivenInput, Steering, performAt } from "./perform.ts";

type Values<Fields extends readonly string[]> = { readonly [I in keyof Fields]: string };

type Rest<N extends RoutedOperation, Field> = Omit<InputTo<N>, Extract<Field, string>> & Steering;

/** One field of the path after the other, then what else the operation takes. */
type Method<N extends RoutedOperation> =
  FieldsIn<(typeof PLACES)[N][1]> extends infer Fields extends readonly string[]
    ? (
        ...given: Partial<Rest<N, Fields[number]>> extends Rest<N, Fields[number]>
          ? [...Values<Fields>, options?: Rest<N, Fields[number]>]
          : [...Values<Fields>, options: Rest<N, Fields[number]>]
      ) => Promise<AnswerTo<N>>
    : never;

/** Each operation that has a route, with the name of the operation. */
export type DerivedClient = { readonly [N in RoutedOperation]: Method<N> };

export const derivedAt = (perform: ReturnType<typeof performAt>): DerivedClient =>
  Object.fromEntries(
    Object.entries(PLACES).map(([name, [, path]]) => [
      name,
      (...given: readonly unknown[]) => {
        const fields = [...path.matchAll(/\w+(?=})/g)].map(([field], index) => [field, given[index]]);
        return perform(name as RoutedOperation, {
          ...Object.fromEntries(fields),
          ...(given[fields.length] as GivenInput),
        });
      },
    ]),
  ) as never;

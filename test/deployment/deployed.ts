/** The resources that a deployment would request from AWS, for the tests. */
import { inject } from "vitest";
import type { Capture, Resource } from "../../infra/capture.ts";
import { type Names, namesOf, prefixOf } from "../../infra/names.ts";
import type { Plan } from "../../infra/plan.ts";

export const PLACE = { partition: "aws", region: "eu-west-1", account: "123456789012" } as const;

/** The requested properties of one resource. */
export type Inputs = Resource["inputs"];

interface Captured {
  readonly plan: Plan;
  readonly capture: Capture;
}

export const STAGES = ["dev", "production"] as const;

export type Stage = (typeof STAGES)[number];

export type Stages = Readonly<Record<Stage, Captured>>;

export interface Deployed extends Captured {
  readonly names: Names;
  readonly resources: readonly Resource[];
  /**
   * Of that type of the engine (`lambda/function:Function`), by their names: the engine asks in an order of its own.
   */
  readonly all: (type: string) => readonly Resource[];
  /** What is asked for of the one resource of that type, or the one whose input of that name is such. */
  readonly one: (type: string, which?: Readonly<Record<string, string>>) => Inputs;
}

export function deployed(stage: Stage): Deployed {
  const captured = inject("deployed").stages[stage];
  const { resources } = captured.capture;
  const all = (type: string): readonly Resource[] =>
    resources
      .filter((each) => each.type === `aws:${type}`)
      .toSorted((one, other) => one.name.localeCompare(other.name));
  return {
    ...{ ...captured, resources, all, names: namesOf(prefixOf("cairn", stage), PLACE) },
    one: (type: string, which: Readonly<Record<string, string>> = {}): Inputs => {
      const found = all(type).filter(({ inputs }) =>
        Object.entries(which).every(([name, value]) => inputs[name] === value),
      );
      const [only] = found;
      if (only === undefined || found.length > 1) {
        throw new Error(`${found.length} of ${type} ${JSON.stringify(which)}, and not one`);
      }
      return only.inputs;
    },
  };
}

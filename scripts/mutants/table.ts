/** Every mutant: the mistakes that have names, each rule of `docs/schedules.md` switched off, and rules beside them. */
import { BATCHES } from "./batches.ts";
import { CLOCKS } from "./clocks.ts";
import { COMPACTING } from "./compacting.ts";
import { CONCLUDING } from "./concluding.ts";
import { DECIDING } from "./deciding.ts";
import { DEPLOYING } from "./deploying.ts";
import { DIALLING } from "./dialling.ts";
import { DRIVING } from "./driving.ts";
import { ENDED_KEYS } from "./ended-keys.ts";
import { FILES } from "./files.ts";
import { FLIPPING } from "./flipping.ts";
import { FIRING } from "./firing.ts";
import { FURTHER } from "./further.ts";
import type { Mutant } from "./mutant.ts";
import { KEYS } from "./keys.ts";
import { LEAKING } from "./leaking.ts";
import { LEVELLING } from "./levelling.ts";
import { MACHINE } from "./machine.ts";
import { NAMED } from "./named.ts";
import { OPERATING } from "./operating.ts";
import { OUTAGES } from "./outages.ts";
import { PROVIDERS } from "./providers.ts";
import { RECORDED } from "./recorded.ts";
import { REDRIVING } from "./redriving.ts";
import { RESTORING } from "./restoring.ts";
import { SAGAS } from "./sagas.ts";
import { SEALING } from "./sealing.ts";
import { SPENDING } from "./spending.ts";
import { STARVING } from "./starving.ts";
import { STOPPING } from "./stopping.ts";

export const MUTANTS: readonly Mutant[] = [
  ...NAMED,
  ...DRIVING,
  ...CONCLUDING,
  ...FIRING,
  ...DEPLOYING,
  ...MACHINE,
  ...KEYS,
  ...SPENDING,
  ...STOPPING,
  ...OUTAGES,
  ...REDRIVING,
  ...COMPACTING,
  ...LEAKING,
  ...PROVIDERS,
  ...RECORDED,
  ...DIALLING,
  ...SAGAS,
  ...STARVING,
  ...BATCHES,
  ...FURTHER,
  ...ENDED_KEYS,
  ...DECIDING,
  ...LEVELLING,
  ...FILES,
  ...CLOCKS,
  ...FLIPPING,
  ...SEALING,
  ...RESTORING,
  ...OPERATING,
];

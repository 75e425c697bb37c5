import { type SimType, simTypeSchema } from "../../protocol/assets/sim.ts";

/** Every type of SIM. */
export const SIM_TYPES: readonly SimType[] = simTypeSchema.options;

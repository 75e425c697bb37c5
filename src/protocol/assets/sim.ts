import { z } from "zod";
import { isUuid, unixSeconds } from "../values/scalars.ts";

/** The two types of SIM, as named in paths and fields. */
export const simTypeSchema = z.enum(["supersim", "prosim"]);
export type SimType = z.output<typeof simTypeSchema>;
/** Every type of SIM. */
export const SIM_TYPES: readonly SimType[] = simTypeSchema.options;

/** Network groups that every account may use beside its own. */
export const DEFAULT_NETWORK_GROUPS = ["default_100mb", "default_1gb", "default_10gb", "default_unlimited"] as const;

const label = (what: string) =>
  z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
      `must be a ${what}: 1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit`,
    );

export const networkGroupSchema = label("network group").meta({
  description: `One of ${DEFAULT_NETWORK_GROUPS.map((name) => `\`${name}\``).join(", ")}, or a group of the account's own.`,
  examples: ["default_1gb"],
});

const serviceProfileSchema = label("service profile").meta({
  description: "Service profile of the PRO SIM.",
  examples: ["iot-eu-standard"],
});

// Operators, test SIMs and private networks use identifiers outside any standard, so every text that can be part of a
// path is accepted.
const simIdentifier = () =>
  z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
      "must be 1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit",
    )
    .refine((value) => !isUuid(value), "must not have the form of a UUID");

const simSidSchema = simIdentifier().meta({
  description: "Identifier that the operator assigned to the Super SIM.",
  examples: ["HS0123456789abcdef0123456789abcdef"],
});

export const iccidSchema = simIdentifier().meta({
  description: "ICCID printed on the SIM; 19 or 20 digits by ITU-T E.118.",
  examples: ["8988307000001234567"],
});

const imsiSchema = simIdentifier().meta({
  description: "IMSI of the PRO SIM; at most 15 digits by ITU-T E.212.",
  examples: ["262011234567890"],
});

/** A Super SIM in the registration of an asset. */
export const superSimRegistrationSchema = z
  .strictObject({ sid: simSidSchema, iccid: iccidSchema, network_group: networkGroupSchema })
  .meta({ id: "SuperSimRegistration", description: "The Super SIM in the device." });

/** A PRO SIM in the registration of an asset. */
export const proSimRegistrationSchema = z
  .strictObject({ imsi: imsiSchema, iccid: iccidSchema, service_profile: serviceProfileSchema })
  .meta({ id: "ProSimRegistration", description: "The PRO SIM in the device." });

// Stored values were validated on registration. Responses do not repeat that, so a stricter rule does not break old assets.
const responseField = (schema: z.ZodString) => z.string().meta({ ...schema.meta() });

const since = unixSeconds("When the operator took the change.");
const pendingStatus = z
  .enum(["active", "inactive"])
  .exactOptional()
  .meta({ description: "Status that was asked for." });
const PENDING = "Change that the operator has queued: it settles by itself. Absent if there is none.";

export const superSimSchema = z
  .strictObject({
    sid: responseField(simSidSchema),
    iccid: responseField(iccidSchema),
    network_group: responseField(networkGroupSchema),
    pending: z
      .strictObject({
        status: pendingStatus,
        network_group: z.string().exactOptional().meta({ description: "Network group that was asked for." }),
        since,
      })
      .exactOptional()
      .meta({ id: "PendingSuperSimChange", description: PENDING }),
  })
  .meta({ id: "SuperSim" });

export const proSimSchema = z
  .strictObject({
    imsi: responseField(imsiSchema),
    iccid: responseField(iccidSchema),
    service_profile: responseField(serviceProfileSchema),
    pending: z
      .strictObject({ status: pendingStatus, since })
      .exactOptional()
      .meta({ id: "PendingProSimChange", description: PENDING }),
  })
  .meta({ id: "ProSim" });

/** Response of Get Network Groups. */
export const networkGroupListSchema = z
  .strictObject({
    network_groups: z
      .array(
        z.strictObject({
          name: z.string().meta({ description: "Name of the group, as `supersim.network_group` takes it." }),
          default: z.boolean().meta({ description: "Whether every account has it." }),
        }),
      )
      .meta({ description: "Those of every account first, then the account's own by name." }),
  })
  .meta({ id: "NetworkGroupList" });
export type NetworkGroupList = z.output<typeof networkGroupListSchema>;

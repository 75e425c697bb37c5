import { z } from "zod";
import { unixSeconds } from "../values/scalars.ts";
import { formatTypedCode, parseTypedCode, TYPED_CODE_ALPHABET } from "../values/typed-code.ts";

export const ENROLMENT_CODE_ALPHABET = TYPED_CODE_ALPHABET;
export const ENROLMENT_CODE_LENGTH = 10;

/** Body of a request to enrol a device. */
export const enrolmentRequestSchema = z
  .strictObject({
    code: z
      .string()
      .min(1)
      .max(40)
      .meta({
        description: "The enrolment code as typed; case, spaces and hyphens are ignored.",
        examples: ["7K3MQ-XW9TD"],
      }),
    nonce: z
      .string()
      .regex(/^[A-Za-z0-9_-]{22,64}$/, "must be 22 to 64 characters of base64url")
      .meta({
        description:
          "Random value that the device keeps until it has its token. A request with the same code and nonce may be repeated.",
      }),
  })
  .meta({ id: "EnrolmentRequest", examples: [{ code: "7K3MQ-XW9TD", nonce: "q83vASNFZ4mrze8BI0VniQ" }] });

const MIN_CODE_VALIDITY_S = 60;
export const MAX_CODE_VALIDITY_S = 30 * 24 * 3600;
const DEFAULT_CODE_VALIDITY_S = 24 * 3600;

/** Body of Create Enrolment Code. */
export const enrolmentCodeCreationSchema = z
  .strictObject({
    valid_s: z
      .int()
      .min(MIN_CODE_VALIDITY_S)
      .max(MAX_CODE_VALIDITY_S)
      .default(DEFAULT_CODE_VALIDITY_S)
      .meta({ description: "How long the code can be used, in seconds." }),
  })
  .meta({ id: "EnrolmentCodeCreation", examples: [{ valid_s: 3600 }] });

/** Response of Create Enrolment Code. */
export const createdEnrolmentCodeSchema = z
  .strictObject({
    code: z.string().meta({ description: "The code. Shown only once.", examples: ["7K3MQ-XW9TD"] }),
    serial_number: z.string().meta({ description: "Serial number of the asset that the device becomes." }),
    expires_at: unixSeconds("When the code expires."),
  })
  .meta({ id: "CreatedEnrolmentCode" });
export type CreatedEnrolmentCode = z.output<typeof createdEnrolmentCodeSchema>;

/** Response to an enrolment. The token is shown only once. */
export const enrolmentSchema = z.object({
  device_token: z.string().meta({
    description: "The device's new credential. The old one works until the device connects with the new one.",
  }),
  asset: z
    .object({
      uuid: z.string().meta({ description: "Asset identifier." }),
      serial_number: z.string().meta({ description: "Serial number of the device." }),
      name: z.string().meta({ description: "Display name." }),
    })
    .meta({ description: "The asset that the device is now." }),
});
export type Enrolment = z.output<typeof enrolmentSchema>;

/** Normalizes a typed enrolment code; `undefined` when it is not a valid one. */
export function parseEnrolmentCode(typed: string): string | undefined {
  return parseTypedCode(typed, ENROLMENT_CODE_LENGTH);
}

/** Formats a code in two groups, such as `7K3MQ-XW9TD`. */
export function formatEnrolmentCode(code: string): string {
  return formatTypedCode(code);
}

const autoAccept = z.boolean().meta({
  description:
    "Whether devices that are new, or take the place of others, get what fleets have for them without being accepted.",
});

/** Response of Get Enrolment Settings. */
export const enrolmentSettingsSchema = z.strictObject({ auto_accept: autoAccept }).meta({ id: "EnrolmentSettings" });
export type EnrolmentSettings = z.output<typeof enrolmentSettingsSchema>;

/** Body of Change Enrolment Settings. */
export const enrolmentSettingsUpdateSchema = z
  .strictObject({ auto_accept: autoAccept })
  .meta({ id: "EnrolmentSettingsUpdate", examples: [{ auto_accept: false }] });

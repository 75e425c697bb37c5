import { z } from "zod";

/** Without I, L, O and U, which are read or typed as others (Crockford's base 32). */
export const ENROLMENT_CODE_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
export const ENROLMENT_CODE_LENGTH = 10;

const CODE = new RegExp(`^[${ENROLMENT_CODE_ALPHABET}]+$`);

const LOOK_ALIKES: ReadonlyMap<string, string> = new Map([
  ["O", "0"],
  ["I", "1"],
  ["L", "1"],
]);

/** What a device sends to be enrolled with a code. */
export const enrolmentRequestSchema = z
  .strictObject({
    code: z
      .string()
      .min(1)
      .max(40)
      .meta({
        description: "The enrolment code as a person typed it: case, blanks and hyphens do not matter.",
        examples: ["7K3MQ-XW9TD"],
      }),
    nonce: z
      .string()
      .regex(/^[A-Za-z0-9_-]{22,64}$/, "must be 22 to 64 characters of base64url")
      .meta({
        description:
          "Random, made by the device and kept until it has its token: the code works once more for whoever sends the same.",
      }),
  })
  .meta({ id: "EnrolmentRequest", examples: [{ code: "7K3MQ-XW9TD", nonce: "q83vASNFZ4mrze8BI0VniQ" }] });

/** What an enrolled device is told, this once. */
export const enrolmentSchema = z.object({
  device_token: z.string().meta({ description: "What the device connects with. The old one works until it does." }),
  asset: z.object({ uuid: z.string(), serial_number: z.string(), name: z.string() }),
});
export type Enrolment = z.output<typeof enrolmentSchema>;

/** The code that was meant by what somebody typed; `undefined` where it cannot be one. */
export function parseEnrolmentCode(typed: string): string | undefined {
  const code = typed
    .toUpperCase()
    .replaceAll(/[\s-]/g, "")
    .replaceAll(/[OIL]/g, (sign) => LOOK_ALIKES.get(sign) ?? sign);
  return code.length === ENROLMENT_CODE_LENGTH && CODE.test(code) ? code : undefined;
}

/** The code in two groups, to be read out and typed. */
export function formatEnrolmentCode(code: string): string {
  return `${code.slice(0, ENROLMENT_CODE_LENGTH / 2)}-${code.slice(ENROLMENT_CODE_LENGTH / 2)}`;
}

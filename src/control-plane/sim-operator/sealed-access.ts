import { z } from "zod";
import { parseJson } from "../../lib/parse-json.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import { credentialsPurpose, type Seal, type Sealer, UnsealError } from "../sealing/sealer.ts";
import type { Sealed } from "../store/asset-settings.ts";
import type { StoredCredentials } from "../store/sim-credentials.ts";
import type { OperatorAccess } from "./operator-access.ts";

const url = z.url();
const text = z.string().min(1);
const supersim = z.object({
  url,
  credentials: z.union([
    z.object({ clientId: text, clientSecret: text, tokenUrl: url }),
    z.object({ accountSid: text, authToken: text }),
  ]),
});
const prosim = z.object({ url, applicationToken: text });

/** Seals what an account uses the operator of a type of SIM with. */
export function sealAccess(seal: Seal, accountId: string, type: SimType, access: OperatorAccess): Sealed {
  return seal(Buffer.from(JSON.stringify(access[type])), credentialsPurpose(accountId, type));
}

/** Opens it again. Throws `UnsealError`, also where another version of the service has stored what this one does not know. */
export function openAccess(sealer: Pick<Sealer, "open">, stored: StoredCredentials): OperatorAccess {
  const { accountId, type, keyId } = stored;
  const purpose = credentialsPurpose(accountId, type);
  const value = parseJson(sealer.open(stored, purpose), "short");
  const parsed: OperatorAccess =
    type === "prosim" ? { prosim: prosim.safeParse(value).data } : { supersim: supersim.safeParse(value).data };
  if (parsed[type]) return parsed;
  throw new UnsealError(purpose, keyId, "they have a form that this version does not know: set them again");
}

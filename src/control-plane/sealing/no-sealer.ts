import { EdgeError } from "../../protocol/errors/errors.ts";
import type { Sealer } from "./sealer.ts";

/** For a service without a key file. Nothing can be sealed, so that nothing was. */
export class NoSealer implements Sealer {
  async sealing(): Promise<never> {
    return this.open();
  }

  open(): never {
    throw new EdgeError("ServiceUnavailable", "The service has no file with keys: secrets_key_file is not configured.");
  }
}

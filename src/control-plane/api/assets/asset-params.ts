import { z } from "zod";

/** Path parameter of everything under one asset. */
export const assetParams = z.object({
  asset_id: z.string().meta({ description: "Serial number, SIM SID, ICCID or UUID of the asset." }),
});

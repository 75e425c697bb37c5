import { appName } from "../../../protocol/app-fields.ts";
import { assetParams } from "../assets/asset-params.ts";

/** Path parameters of everything about one app of a device. */
export const appParams = assetParams.extend({ name: appName.meta({ description: "Name of the app." }) });

import type { Store } from "../../store/store.ts";
import { type AccountSetting, changeSetting } from "../account/change-setting.ts";
import {
  type DataPlanSettings,
  dataPlanSettingsSchema,
  type PlanDeployments,
} from "../../../protocol/assets/data-plan.ts";
import { accountOf } from "../auth.ts";
import { ifMatchHeaders, type Resource, sendResource, stateOf } from "../conditional-requests.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";

const PATH = "/v1/data-plan-settings";
const SETTINGS = json("The settings.", dataPlanSettingsSchema);

/** `GET /v1/data-plan-settings`: what becomes of deployments to an asset with a used-up allowance. */
export function getDataPlanSettings(api: Api, { store }: ApiBase): void {
  api.get(
    PATH,
    {
      schema: {
        operationId: "getDataPlanSettings",
        summary: "Get Data Plan Settings",
        description: "What becomes of deployments to an asset whose monthly allowance is used up. `ignore` unless set.",
        tags: ["Usage"],
        response: { 200: SETTINGS, ...errors() },
      },
    },
    async (request, reply): Promise<DataPlanSettings> =>
      sendResource(reply, toSettings(await store.dataPlans.readDeployments(accountOf(request)))),
  );
}

/** `PATCH /v1/data-plan-settings`: changes them. */
export function changeDataPlanSettings(
  api: Api,
  { store, deployments: delivery, clock }: ApiContext<"deployments">,
): void {
  api.patch(
    PATH,
    {
      schema: {
        operationId: "changeDataPlanSettings",
        summary: "Change Data Plan Settings",
        description: "Changes the settings of the account. Deployments that wait go on waiting only with `wait`.",
        tags: ["Usage"],
        headers: ifMatchHeaders,
        body: dataPlanSettingsSchema,
        response: { 200: SETTINGS, ...errorsWithBody("PreconditionFailed") },
      },
    },
    async (request, reply): Promise<DataPlanSettings> => {
      const { deployments } = request.body;
      const change = { value: deployments, details: request.body };
      const settings = await changeSetting(request, reply, clock, settingOf(store), change);
      if (deployments !== "wait") delivery.deliverHeld();
      return settings;
    },
  );
}

function settingOf({ dataPlans }: Pick<Store, "dataPlans">): AccountSetting<PlanDeployments, DataPlanSettings> {
  return {
    read: (accountId) => dataPlans.readDeployments(accountId),
    set: (...change) => dataPlans.setDeployments(...change),
    toResource: toSettings,
  };
}

function toSettings(deployments: PlanDeployments): Resource<DataPlanSettings> {
  return { state: stateOf(deployments), body: { deployments } };
}

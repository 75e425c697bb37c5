import {
  type DataPlanSettings,
  dataPlanSettingsSchema,
  type PlanDeployments,
} from "../../../protocol/assets/data-plan.ts";
import { accountOf } from "../auth.ts";
import {
  changeResource,
  ifMatchHeaders,
  preconditionOf,
  type Resource,
  sendResource,
  stateOf,
} from "../conditional-requests.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf } from "../people/audit-entry.ts";

const PATH = "/v1/data-plan-settings";
const SETTINGS = json("The settings.", dataPlanSettingsSchema);

/** `GET /v1/data-plan-settings`: what becomes of deployments to an asset with a used-up allowance. */
export function getDataPlanSettings(api: Api, { store }: ApiContext): void {
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
export function changeDataPlanSettings(api: Api, { store, deployments: delivery, clock }: ApiContext): void {
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
      const accountId = accountOf(request);
      const { deployments } = request.body;
      const details = { fields: ["deployments"], deployments };
      const entry = auditOf(request, clock, { action: "settings.changed", details });
      const present = async () => toSettings(await store.dataPlans.readDeployments(accountId));
      const precondition = preconditionOf(request, (current: PlanDeployments) => toSettings(current).state);
      await changeResource(reply, present, () =>
        store.dataPlans.setDeployments(accountId, deployments, entry, precondition),
      );
      if (deployments !== "wait") delivery.deliverHeld();
      return sendResource(reply, toSettings(deployments));
    },
  );
}

function toSettings(deployments: PlanDeployments): Resource<DataPlanSettings> {
  return { state: stateOf(deployments), body: { deployments } };
}

import { Button, Fieldset, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { call } from "../../api/client.ts";
import { toFailure } from "../../api/failure.ts";
import type { AppDetails, AppUpdateRequest } from "../../../protocol/api-types.ts";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PendingButton } from "../../parts/form.tsx";
import { useApp } from "../asset/asset-queries.ts";
import { DeploymentView } from "../deployment/deployment-view.tsx";
import { dryRun, startDeployment } from "../deployment/start-deployment.ts";
import { DeployFormView } from "./deploy-form-view.tsx";
import { type AppForm, toUpdate } from "./deploy-form.ts";
import { toForm } from "./installed-app.ts";

const OPERATION = "PATCH /v1/assets/{asset_id}/edge/apps/{name}";
const PARAMETER = "deployment";

/** Updates an installed app: only what was changed in the form is sent. */
export function UpdatePage(): ReactNode {
  const { asset_id: assetId = "", app: name = "" } = useParams();
  const app = useApp(assetId, name);
  const [parameters, setParameters] = useSearchParams();
  const deploymentId = parameters.get(PARAMETER);
  return (
    <>
      <PageTitle title={`Update ${name}`} />
      <Text size="sm" mb="md">
        <Link to={`/assets/${assetId}`}>Back to the asset</Link>
      </Text>
      <Stack gap="lg">
        {deploymentId !== null && (
          <DeploymentView
            assetId={assetId}
            deploymentId={deploymentId}
            actions={
              <>
                <Button component={Link} to={`/assets/${assetId}`}>
                  Show the asset
                </Button>
                <Button variant="default" onClick={() => setParameters({})}>
                  Change the form
                </Button>
              </>
            }
          />
        )}
        <div hidden={deploymentId !== null}>
          <Loaded query={app}>
            {(data) => (
              <UpdateForm assetId={assetId} app={data} onStarted={(id) => setParameters({ [PARAMETER]: id })} />
            )}
          </Loaded>
        </div>
      </Stack>
    </>
  );
}

interface FormProps {
  readonly assetId: string;
  readonly app: AppDetails;
  readonly onStarted: (deploymentId: string) => void;
}

function UpdateForm({ assetId, app, onStarted }: FormProps): ReactNode {
  // What was installed when the form was opened: reports that arrive meanwhile must not change what is typed.
  const [installed, setInstalled] = useState(() => toForm(app.spec));
  const [form, setForm] = useState<AppForm>(installed);
  const path = { asset_id: assetId, name: app.name };
  const reveal = useMutation({
    mutationFn: () => call("GET /v1/assets/{asset_id}/edge/apps/{name}", { path, query: { reveal: "environments" } }),
    onSuccess: ({ spec }) => {
      const { variables } = toForm(spec);
      setInstalled((before) => ({ ...before, variables }));
      setForm((before) => ({ ...before, variables }));
    },
  });
  const isHidden = installed.variables.length > 0 && !reveal.isSuccess;
  return (
    <DeployFormView<AppUpdateRequest>
      assetId={assetId}
      form={form}
      onChange={setForm}
      build={(next, delivery) => toUpdate(next, installed, delivery)}
      dryRun={(body) => dryRun(OPERATION, { path, body, query: { dry_run: "true" } })}
      start={(body, key) => startDeployment(OPERATION, { path, body, query: {} }, key)}
      onStarted={onStarted}
      verb="Update"
      isUpdate
      {...(isHidden && {
        variables: (
          <Fieldset legend="Environment variables">
            <Text size="sm" mb="xs">
              {installed.variables.map(({ key }) => key).join(", ")}. Their values are on the device alone; without a
              change here they stay.
            </Text>
            {reveal.error && <FailureNote failure={toFailure(reveal.error)} />}
            <PendingButton size="xs" variant="default" loading={reveal.isPending} onClick={() => reveal.mutate()}>
              Ask the device for them, to change them
            </PendingButton>
          </Fieldset>
        ),
      })}
    />
  );
}

import { Group, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useRef, useState } from "react";
import { toFailure } from "../../api/failure.ts";
import type { DeploymentEvent } from "../../../protocol/api-types.ts";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Note } from "../../parts/note.tsx";
import { focusPageTitle } from "../../parts/page-title.tsx";
import { PendingButton } from "../../parts/form.tsx";
import { DeploymentFailure } from "../deployment/deployment-failure.tsx";
import { useApps, useDevice } from "../asset/asset-queries.ts";
import { AppFields } from "./app-fields.tsx";
import { DeliveryFields } from "./delivery-fields.tsx";
import { type AppForm, type Built, type DeliveryForm, EMPTY_DELIVERY, type FormIssue } from "./deploy-form.ts";
import classes from "./deploy.module.css";
import { budgetText, buttonText, priceText } from "./price.ts";
import { type SpentPlan, spentPlanText } from "./spent-plan.ts";
import { type Priced, usePrice } from "./use-price.ts";
import { useSpentPlan } from "./use-spent-plan.ts";

interface Props<Body> {
  readonly assetId: string;
  readonly form: AppForm;
  readonly onChange: (form: AppForm) => void;
  readonly build: (form: AppForm, delivery: DeliveryForm) => Built<Body>;
  readonly dryRun: (body: Body) => Promise<DeploymentEvent>;
  readonly start: (body: Body, idempotencyKey: string) => Promise<string>;
  readonly onStarted: (deploymentId: string) => void;
  readonly verb: string;
  readonly isUpdate: boolean;
  readonly variables?: ReactNode;
}

/** The form, the price of what it says, and the button, in this order. */
export function DeployFormView<Body>(props: Props<Body>): ReactNode {
  const { assetId, form, onChange, build, dryRun, start, onStarted, verb, isUpdate, variables } = props;
  const [delivery, setDelivery] = useState<DeliveryForm>(EMPTY_DELIVERY);
  const [isChecked, setChecked] = useState(false);
  const built = build(form, delivery);
  const request = built.ok ? JSON.stringify(built.body) : "";
  const idempotency = useIdempotencyKey();
  const spentPlan = useSpentPlan(assetId);
  const isAway = useApps(assetId).data?.reachable === false;
  const price = usePrice(request, () =>
    built.ok ? dryRun(built.body) : Promise.reject(new Error("the form is not complete")),
  );
  const starting = useMutation({
    mutationFn: ({ body }: { readonly body: Body; readonly text: string }) => start(body, idempotency.keyFor(request)),
    onSuccess: (id) => {
      idempotency.forget();
      onStarted(id);
      focusPageTitle();
    },
  });
  const refusal = starting.variables?.text === request ? starting.error : null;
  const issues = [
    ...(isChecked && !built.ok ? built.issues : []),
    ...issuesOf(refusal),
    ...issuesOf(price.error),
    ...takenPort(form, price.priced?.event),
  ];
  const ask = (event: FormEvent): void => {
    event.preventDefault();
    setChecked(true);
    if (built.ok && !price.isPending) price.ask();
  };
  return (
    <form onSubmit={ask} className={classes.form}>
      <Stack gap="md">
        <AppFields form={form} onChange={onChange} issues={issues} isUpdate={isUpdate} variables={variables} />
        <DeliveryFields
          delivery={delivery}
          onChange={setDelivery}
          issues={issues}
          isOpen={isAway || spentPlan !== undefined}
        />
        {isChecked && !built.ok && <Incomplete issues={built.issues} />}
        {price.error && <FailureNote failure={toFailure(price.error)} />}
        {price.priced && <PriceNote assetId={assetId} priced={price.priced} />}
        {refusal && <FailureNote failure={toFailure(refusal)} />}
        {spentPlan && <PlanNote plan={spentPlan} isUrgent={delivery.isUrgent} />}
        {isAway && (
          <Note kind="warn" title="The device is not connected." isAnnounced={false}>
            What it would download is not known until it is. With a time to wait, the{" "}
            {isUpdate ? "update" : "deployment"} is sent when it connects.
          </Note>
        )}
        <Group gap="xs">
          {!isAway && (
            <PendingButton type="submit" variant={price.priced ? "default" : "filled"} loading={price.isPending}>
              Check and show the price
            </PendingButton>
          )}
          {(price.priced?.event.status === "Success" || isAway) && (
            <PendingButton
              disabled={!built.ok || (isAway && delivery.waitHours.trim() === "")}
              loading={starting.isPending}
              onClick={() => {
                setChecked(true);
                if (built.ok) starting.mutate({ body: built.body, text: request });
              }}
            >
              {buttonText(verb, price.priced?.price)}
            </PendingButton>
          )}
        </Group>
      </Stack>
    </form>
  );
}

function PlanNote({ plan, isUrgent }: { readonly plan: SpentPlan; readonly isUrgent: boolean }): ReactNode {
  const { title, text } = spentPlanText(plan, isUrgent);
  return (
    <Note kind={isUrgent ? "info" : "warn"} title={title}>
      {text}
    </Note>
  );
}

interface IdempotencyKey {
  readonly keyFor: (request: string) => string;
  readonly forget: () => void;
}

/**
 * One key for a request until the service has accepted it: pressing the button again after a lost answer cannot deploy
 * twice. What is pressed after that is another deployment.
 */
function useIdempotencyKey(): IdempotencyKey {
  const kept = useRef<{ readonly request: string; readonly key: string }>(undefined);
  return {
    keyFor: (request) => {
      if (kept.current?.request !== request) kept.current = { request, key: crypto.randomUUID() };
      return kept.current.key;
    },
    forget: () => {
      kept.current = undefined;
    },
  };
}

function PriceNote({
  assetId,
  priced: { event, price },
}: {
  readonly assetId: string;
  readonly priced: Priced;
}): ReactNode {
  // Asked for here only: the device answers it, and the price does not wait for it.
  const budget = useDevice(assetId).data?.data_usage.budget;
  if (event.status !== "Success") return <DeploymentFailure event={event} />;
  const left = price && budgetText(price, budget);
  return (
    <div className={classes.price} role="status">
      <Text fw={600}>{price ? priceText(price) : event.message}</Text>
      {left !== undefined && <Text size="sm">{left}</Text>}
      <Text size="sm" c="dimmed">
        The device has checked the request and changed nothing.
      </Text>
    </div>
  );
}

function Incomplete({ issues }: { readonly issues: readonly FormIssue[] }): ReactNode {
  return (
    <Note kind="bad" title="The form is not complete.">
      <ul style={{ margin: "0.25rem 0", paddingLeft: "1.25rem" }}>
        {issues.map(({ path, reason }) => (
          <li key={`${path} ${reason}`}>
            {path}: {reason}
          </li>
        ))}
      </ul>
    </Note>
  );
}

/** Marks the port that the device says is taken. */
function takenPort({ ports }: AppForm, event: DeploymentEvent | undefined): readonly FormIssue[] {
  const port = event?.code === "ErrorPortInUse" ? event.details?.["host_port"] : undefined;
  return ports.flatMap(({ host }, index) => {
    return Number(host) === port ? [{ path: `ports.${index}.host_port`, reason: "is taken" }] : [];
  });
}

/** Problems of fields that the service has found. */
function issuesOf(error: Error | null): readonly FormIssue[] {
  const issues = error ? toFailure(error).details?.["issues"] : undefined;
  return Array.isArray(issues) ? (issues as FormIssue[]) : [];
}

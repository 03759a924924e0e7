// All that a client is given to show of an elicitation: its message and what is said of its fields.
export const questionText = (params: unknown): string => {
  const { message, requestedSchema } = params as {
    readonly message: string
    readonly requestedSchema?: { readonly properties?: Readonly<Record<string, { readonly description?: string }>> }
  }
  return [message, ...Object.values(requestedSchema?.properties ?? {}).map(({ description = "" }) => description)].join(
    "\n"
  )
}

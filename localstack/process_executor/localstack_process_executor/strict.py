"""Refuses what AWS refuses and the emulator accepts.

A request that breaks a limit here would be refused in production only. So each request to the emulator, also those of
its own Step Functions, comes through these checks first. Each names the page of AWS's documentation that states it.
Checks that need what is stored (the size of an item after an update, the rate of a partition) are not made.
"""

import json
import re

from localstack.aws.api import CommonServiceException

KB = 1024
MB = 1024 * KB


def refuse(code, message):
    raise CommonServiceException(code, message, status_code=400, sender_fault=True)


def invalid(message):
    refuse("ValidationException", message)


# --- DynamoDB: Developer Guide, "Quotas in Amazon DynamoDB" and "Constraints in Amazon DynamoDB" ---

ITEM_MAX = 400 * KB
EXPRESSION_MAX = 4 * KB
OPERATORS_MAX = 300
IN_OPERANDS_MAX = 100
PARTITION_KEY_MAX = 2048
SORT_KEY_MAX = 1024
TRANSACTION_ACTIONS_MAX = 100
TRANSACTION_BYTES_MAX = 4 * MB
BATCH_WRITES_MAX = 25
BATCH_READS_MAX = 100
BATCH_BYTES_MAX = 16 * MB

EXPRESSIONS = ("ConditionExpression", "UpdateExpression", "FilterExpression", "ProjectionExpression", "KeyConditionExpression")
# "Condition and filter expressions, operators, and functions": comparators, arithmetic and logic words.
OPERATORS = re.compile(r"<>|<=|>=|[=<>+]|(?<![\w#:])-(?![\w])|\b(?:AND|OR|NOT|BETWEEN|IN)\b", re.IGNORECASE)
FUNCTIONS = re.compile(
    r"\b(?:attribute_exists|attribute_not_exists|attribute_type|begins_with|contains|size|if_not_exists|list_append)\s*\(",
    re.IGNORECASE,
)


def attribute_size(value):
    """In bytes, as "DynamoDB Item sizes and formats" counts them."""
    ((kind, content),) = value.items()
    if kind == "S":
        return len(content.encode())
    if kind == "N":
        return (len(content.lstrip("-").replace(".", "")) + 1) // 2 + 1 + content.startswith("-")
    if kind == "B":
        return len(content)
    if kind in ("BOOL", "NULL"):
        return 1
    if kind == "M":
        return item_size(content) + 3 + len(content)
    if kind == "L":
        return sum(attribute_size(each) + 1 for each in content) + 3
    return sum(attribute_size({kind[0]: each}) for each in content)


def item_size(item):
    return sum(len(name.encode()) + attribute_size(value) for name, value in item.items())


def check_item(item):
    if item_size(item) > ITEM_MAX:
        invalid("Item size has exceeded the maximum allowed size")
    for value in item.values():
        if len(value.get("S", "").encode()) > ITEM_MAX:
            invalid("Item size has exceeded the maximum allowed size")


def check_key(key):
    """The names of a table's keys are not known here: the longer limit holds for each."""
    for value in key.values():
        text = value.get("S", value.get("B", value.get("N", "")))
        if len(text) == 0:
            invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value.")
        size = len(text.encode() if isinstance(text, str) else text)
        if size > PARTITION_KEY_MAX:
            invalid(f"One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of{PARTITION_KEY_MAX} bytes")


def check_expressions(action):
    names = action.get("ExpressionAttributeNames") or {}
    for kind in EXPRESSIONS:
        text = action.get(kind)
        if text is None:
            continue
        if len(text.encode()) > EXPRESSION_MAX:
            invalid(f"Invalid {kind}: Expression size has exceeded the maximum allowed size;")
        if len(OPERATORS.findall(text)) + len(FUNCTIONS.findall(text)) > OPERATORS_MAX:
            invalid(f"Invalid {kind}: The expression contains too many operators; operator count: more than {OPERATORS_MAX}")
        for operands in re.findall(r"\bIN\s*\(([^()]*)\)", text, re.IGNORECASE):
            if operands.count(",") >= IN_OPERANDS_MAX:
                invalid(f"Invalid {kind}: The IN operator is provided with too many operands; number of operands: {operands.count(',') + 1}")
    if action.get("UpdateExpression") is not None:
        check_overlap(action["UpdateExpression"], names)


def paths_of(update, names):
    """The paths that an UpdateExpression changes, each as a list of its parts."""
    clauses = re.split(r"\b(SET|REMOVE|ADD|DELETE)\b", update, flags=re.IGNORECASE)
    for word, clause in zip(clauses[1::2], clauses[2::2]):
        depth, part, parts = 0, "", []
        for letter in clause + ",":
            depth += (letter == "(") - (letter == ")")
            if letter == "," and depth == 0:
                parts.append(part.strip())
                part = ""
            else:
                part += letter
        for each in parts:
            path = each.split("=")[0].strip() if word.upper() == "SET" else each.split()[0]
            yield [names.get(one, one) for one in re.findall(r"[^.\[\]]+|\[\d+\]", path)]


def check_overlap(update, names):
    """Developer Guide, "Update expressions": a path may not contain or be another one."""
    seen = []
    for path in paths_of(update, names):
        for other in seen:
            shorter = min(len(path), len(other))
            if path[:shorter] == other[:shorter]:
                invalid(
                    "Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of "
                    f"these paths; path one: [{', '.join(other)}], path two: [{', '.join(path)}]"
                )
        seen.append(path)


def check_write(action):
    if "Item" in action:
        check_item(action["Item"])
    if "Key" in action:
        check_key(action["Key"])
    check_expressions(action)


def check_transaction(request):
    actions = [action for each in request["TransactItems"] for action in each.values()]
    if len(actions) > TRANSACTION_ACTIONS_MAX:
        invalid(f"Member must have length less than or equal to {TRANSACTION_ACTIONS_MAX}")
    size = 0
    for action in actions:
        check_write(action)
        size += item_size(action.get("Item", {})) + item_size(action.get("ExpressionAttributeValues") or {})
    if size > TRANSACTION_BYTES_MAX:
        invalid("Transaction payload size exceeds the limit of 4 MB")
    if len(request.get("ClientRequestToken") or "") > 36:
        invalid("1 validation error detected: Value at 'clientRequestToken' failed to satisfy constraint: Member must have length less than or equal to 36")


def check_batch_write(request):
    writes = [write for each in request["RequestItems"].values() for write in each]
    if len(writes) > BATCH_WRITES_MAX:
        invalid(f"Too many items requested for the BatchWriteItem call; at most {BATCH_WRITES_MAX}")
    items = [write["PutRequest"]["Item"] for write in writes if write.get("PutRequest")]
    for item in items:
        check_item(item)
    if sum(map(item_size, items)) > BATCH_BYTES_MAX:
        invalid("Batch size exceeds the limit of 16 MB")


def check_batch_read(request):
    keys = [key for each in request["RequestItems"].values() for key in each["Keys"]]
    if len(keys) > BATCH_READS_MAX:
        invalid(f"Too many items requested for the BatchGetItem call; at most {BATCH_READS_MAX}")
    for key in keys:
        check_key(key)


# --- Lambda: Developer Guide, "Lambda quotas" ---

ENVIRONMENT_MAX = 4 * KB
# Of CreateFunction, "Description".
DESCRIPTION_MAX = 256


def check_function(request):
    description = request.get("Description") or ""
    if len(description) > DESCRIPTION_MAX:
        refuse(
            "ValidationException",
            f"1 validation error detected: Value '{description[:40]}...' at 'description' failed to satisfy constraint: "
            f"Member must have length less than or equal to {DESCRIPTION_MAX}",
        )
    variables = (request.get("Environment") or {}).get("Variables") or {}
    measured = json.dumps(variables, separators=(",", ":"))
    if len(measured.encode()) > ENVIRONMENT_MAX:
        refuse(
            "InvalidParameterValueException",
            "Lambda was unable to configure your environment variables because the environment variables you have provided "
            f"exceeded the 4KB limit. String measured: {measured[:200]}...",
        )


# --- IAM: User Guide, "IAM and AWS STS quotas"; white space does not count ---

ROLE_POLICIES_MAX = 10_240
MANAGED_POLICY_MAX = 6_144
TRUST_POLICY_MAX = 2_048
role_policies = {}


def length_of(policy):
    return len(re.sub(r"\s", "", policy))


def limit(message):
    raise CommonServiceException("LimitExceeded", message, status_code=409, sender_fault=True)


def check_role_policy(request):
    policies = role_policies.setdefault(request["RoleName"], {})
    sizes = {**policies, request["PolicyName"]: length_of(request["PolicyDocument"])}
    if sum(sizes.values()) > ROLE_POLICIES_MAX:
        limit(f"Maximum policy size of {ROLE_POLICIES_MAX} bytes exceeded for role {request['RoleName']}")
    policies.update(sizes)


def check_deleted_role_policy(request):
    role_policies.get(request["RoleName"], {}).pop(request["PolicyName"], None)


def check_managed_policy(request):
    if length_of(request["PolicyDocument"]) > MANAGED_POLICY_MAX:
        limit("Cannot exceed quota for PolicySize: 6144")


def check_role(request):
    role_policies.pop(request["RoleName"], None)
    if length_of(request["AssumeRolePolicyDocument"]) > TRUST_POLICY_MAX:
        limit("Cannot exceed quota for ACLSizePerRole: 2048")


# --- Step Functions: Developer Guide, "Step Functions service quotas" ---

PAYLOAD_MAX = 256 * KB
DEFINITION_MAX = MB


def check_execution(request):
    if len((request.get("input") or "").encode()) > PAYLOAD_MAX:
        invalid("1 validation error detected: Value at 'input' failed to satisfy constraint: Member must have length less than or equal to 262144")
    if re.fullmatch(r"[^\s<>{}\[\]?*\"#%\\^|~`$&,;:/\u0000-\u001f\u007f-\u009f]{1,80}", request.get("name") or "n") is None:
        refuse("InvalidName", f"Invalid Name: '{request['name']}'")


def check_output(request):
    if len(request["output"].encode()) > PAYLOAD_MAX:
        invalid("1 validation error detected: Value at 'output' failed to satisfy constraint: Member must have length less than or equal to 262144")


def check_definition(request):
    if len((request.get("definition") or "").encode()) > DEFINITION_MAX:
        invalid("1 validation error detected: Value at 'definition' failed to satisfy constraint: Member must have length less than or equal to 1048576")


# --- S3: User Guide, "Creating object key names", "Working with object metadata", "Deleting multiple objects" ---

OBJECT_KEY_MAX = 1024
METADATA_MAX = 2 * KB
DELETED_OBJECTS_MAX = 1000
BUCKET_POLICY_MAX = 20 * KB


def check_object(request):
    if len(request["Key"].encode()) > OBJECT_KEY_MAX:
        refuse("KeyTooLongError", "Your key is too long")
    metadata = request.get("Metadata") or {}
    if sum(len(name.encode()) + len(value.encode()) for name, value in metadata.items()) > METADATA_MAX:
        refuse("MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size")


def check_deletions(request):
    if len(request["Delete"]["Objects"]) > DELETED_OBJECTS_MAX:
        refuse("MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")


def check_bucket_policy(request):
    if len(request["Policy"].encode()) > BUCKET_POLICY_MAX:
        refuse("PolicyTooLarge", "The policy document exceeds the maximum allowed size")


# --- Systems Manager: API reference of GetParameters and PutParameter ---


def check_parameters(request):
    if len(request["Names"]) > 10:
        invalid("1 validation error detected: Value at 'names' failed to satisfy constraint: Member must have length less than or equal to 10")


def check_parameter(request):
    if len(request["Value"].encode()) > 4 * KB and request.get("Tier") not in ("Advanced", "Intelligent-Tiering"):
        invalid("Standard tier parameters support a maximum parameter value of 4096 characters.")


CHECKS = {
    ("dynamodb", "PutItem"): check_write,
    ("dynamodb", "UpdateItem"): check_write,
    ("dynamodb", "DeleteItem"): check_write,
    ("dynamodb", "GetItem"): check_write,
    ("dynamodb", "Query"): check_expressions,
    ("dynamodb", "Scan"): check_expressions,
    ("dynamodb", "TransactWriteItems"): check_transaction,
    ("dynamodb", "BatchWriteItem"): check_batch_write,
    ("dynamodb", "BatchGetItem"): check_batch_read,
    ("lambda", "CreateFunction"): check_function,
    ("lambda", "UpdateFunctionConfiguration"): check_function,
    ("iam", "CreateRole"): check_role,
    ("iam", "PutRolePolicy"): check_role_policy,
    ("iam", "DeleteRolePolicy"): check_deleted_role_policy,
    ("iam", "CreatePolicy"): check_managed_policy,
    ("stepfunctions", "StartExecution"): check_execution,
    ("stepfunctions", "SendTaskSuccess"): check_output,
    ("stepfunctions", "CreateStateMachine"): check_definition,
    ("stepfunctions", "UpdateStateMachine"): check_definition,
    ("s3", "PutObject"): check_object,
    ("s3", "CopyObject"): check_object,
    ("s3", "DeleteObjects"): check_deletions,
    ("s3", "PutBucketPolicy"): check_bucket_policy,
    ("ssm", "GetParameters"): check_parameters,
    ("ssm", "PutParameter"): check_parameter,
}


def note_date(chain, context, response):
    """Before the emulator adds an Authorization to requests without one, such as those of presigned links."""
    headers = context.request.headers
    is_signed = headers.get("Authorization", "").startswith("AWS4-HMAC-SHA256")
    # IAM User Guide, "Create a signed AWS API request": a signed request has one of these two headers.
    context.lacks_date = is_signed and not (headers.get("X-Amz-Date") or headers.get("Date"))


def strict(chain, context, response):
    """A handler of the emulator's gateway, after a request was parsed and before its service sees it."""
    if context.operation is None:
        return
    if context.lacks_date:
        refuse(
            "IncompleteSignatureException",
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.",
        )
    check = CHECKS.get((context.service.service_name, context.operation.name))
    if check is not None:
        check(context.service_request)

"""Which functions have no effect: of those that the parser knows by name all but some, of others only those listed."""

from __future__ import annotations

from typing import Final

_HARMFUL: Final = """
    AIAgg AIClassify AIEmbed AIForecast AIGenerate AISimilarity AISummarizeAgg GenerateBool GenerateDouble GenerateEmbedding
    GenerateInt GenerateTable GenerateText MLForecast MLTranslate Predict FeaturesAtTime VectorSearch Apply Decrypt DecryptRaw
    Encrypt EncryptRaw DynamicIdentifier NextValueFor ReadCSV ReadParquet Secret ToFile Generator Seq1 Seq2 Seq4 Seq8
    CurrentIpAddress CurrentAccount CurrentAvailableRoles CurrentSession CurrentStatement CurrentTransaction NetFunc Host Stack
    ParameterizedAgg CombinedParameterizedAgg Randstr
"""
_HARMLESS: Final = """
    age array_agg array_cat array_dims array_fill array_length array_lower array_ndims array_positions array_remove array_replace
    array_to_json array_upper arrayjoin ascii bit_and bit_or bit_xor bool_and bool_or btrim bin cardinality char_length
    character_length clock_timestamp concat_ws conv convert_from convert_to cosd cot crc32 cume_dist curdate curtime date_bin
    date_format date_part datediff datetime dayname dayofmonth dayofweek dayofyear decode degrees div elt encode erf every
    export_set field find_in_set format format_type from_base64 from_days from_unixtime gcd get_bit get_byte get_format glob
    group_concat hex hour hypot ifnull iif instr inet6_ntoa inet_aton inet_ntoa initcap is_ipv4 is_ipv6 isfinite isnull isnumeric
    json_agg json_array json_array_elements json_array_elements_text json_array_insert json_array_length json_build_array
    json_build_object json_contains json_depth json_each json_each_text json_extract json_extract_path json_extract_path_text
    json_group_array json_group_object json_insert json_keys json_length json_object json_object_agg json_object_keys
    json_overlaps json_patch json_populate_record json_pretty json_quote json_remove json_replace json_search json_set
    json_strip_nulls json_to_record json_to_recordset json_tree json_type json_typeof json_unquote json_valid json_value jsonb_agg
    jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each
    jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object_agg jsonb_object_keys jsonb_path_exists
    jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_to_record
    jsonb_to_recordset jsonb_typeof julianday justify_days justify_hours justify_interval last_day lcase lcm len likelihood likely
    locate log10 log2 lower_inc lower_inf ltrim make_date make_interval make_time make_timestamp make_timestamptz makedate
    maketime masklen microsecond mid minute mode month monthname netmask network now num_nonnulls num_nulls numnode nvl
    octet_length oct ord percent_rank percentile_cont percentile_disc period_add period_diff phraseto_tsquery plainto_tsquery
    position printf quarter quote quote_ident quote_literal quote_nullable radians random range_merge regexp_count regexp_instr
    regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr reverse row
    row_to_json rtrim sec_to_time second set_bit set_masklen setweight sha1 sha256 sha384 sha512 sign similarity sind split_part
    sqrt statement_timestamp str_to_date strcmp strftime string_to_array string_to_table strip strpos subdate substr
    substring_index subtime sysdate tand time_format time_to_sec timediff timeofday timestampadd timestampdiff to_ascii to_char
    to_date to_days to_hex to_json to_jsonb to_number to_seconds to_timestamp to_tsquery to_tsvector total transaction_timestamp
    translate trim_array trim_scale trunc ts_headline ts_rank ts_rank_cd ts_delete tsvector_to_array typeof ucase unicode
    unix_timestamp unixepoch unlikely unnest upper_inc upper_inf utc_date utc_time utc_timestamp websearch_to_tsquery week weekday
    weekofyear
    width_bucket word_similarity year yearweek zeroifnull date_add date_sub adddate addtime timezone date_trunc bit_count
    bit_length
"""

#: Classes of sqlglot: they call out, read files, keep secrets, count something up, or make gigabytes of one character.
HARMFUL: Final = frozenset(_HARMFUL.split())

#: By the name that is written, in lower case. Nothing here touches a file, another server, a session, a sequence or a lock.
HARMLESS: Final = frozenset(_HARMLESS.split())
